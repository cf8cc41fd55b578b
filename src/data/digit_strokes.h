// Handwritten forms of the ten digits, as pen strokes.
#pragma once

#include <vector>

namespace yoke {

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
