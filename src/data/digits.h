// Digits: handwriting-like images of 0 to 9 for the quick start and for tests, drawn from strokes.
#pragma once

#include <cstdint>

namespace yoke {

inline constexpr int kDigitSide = 28;
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

/// Which image; the same key gives the same image on every machine, whatever else was drawn.
struct DigitKey {
  uint64_t seed = 1;
  bool test = false;
  int64_t index = 0;
};

/// Draws one image into `image` (kDigitPixels bytes, row-major, 0 is paper and 255 is ink); returns
/// its digit. A writer's hand: a random glyph, its points shaken, slanted, turned, stretched and
/// moved, drawn by a pen of random width and darkness, on paper with random noise. About 15
/// microseconds.
int DrawDigit(const DigitKey& key, uint8_t* image);

}  // namespace yoke
