// The ways in which people write the ten digits, as strokes of a pen.
#pragma once

#include <vector>

namespace yoke {

/// A point in the box of a digit: x to the right and y down, both 0 to 100.
struct StrokePoint {
  float x = 0;
  float y = 0;
  bool operator==(const StrokePoint&) const = default;
};

/// A smooth curve through these points; a point given twice is a corner.
using Stroke = std::vector<StrokePoint>;

/// One way to write a digit.
using Glyph = std::vector<Stroke>;

/// The ways to write `digit` (0 to 9).
const std::vector<Glyph>& GlyphsOf(int digit);

}  // namespace yoke
