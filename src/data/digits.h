// Digits: handwriting-like images of 0 to 9, drawn from strokes, for the quick start and for tests.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

inline constexpr int kDigitSide = 28;
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

/// Identifies an image. The same key gives the same image on every machine.
struct DigitKey {
  uint64_t seed = 1;
  bool test = false;
  int64_t index = 0;
};

/// Draws one image into `image` (kDigitPixels bytes, row-major, 0 is paper and 255 is ink) and
/// returns its digit. A random glyph is perturbed, slanted, rotated, stretched and moved, and drawn
/// with a pen of random width and darkness on paper with random noise. About 15 microseconds.
int DrawDigit(const DigitKey& key, uint8_t* image);

/// A point in the box of a digit: x to the right and y down, both from 0 to 100.
struct StrokePoint {
  float x = 0;
  float y = 0;
  bool operator==(const StrokePoint&) const = default;
};

/// A smooth curve through these points; a point given twice is a corner.
using Stroke = std::vector<StrokePoint>;

/// One form of a digit.
using Glyph = std::vector<Stroke>;

/// The forms of `digit` (0 to 9).
const std::vector<Glyph>& GlyphsOf(int digit);

}  // namespace yoke
