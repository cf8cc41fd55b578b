// Random resized crops: a random rectangle of an image, stretched to the image's size (Szegedy et
// al., "Going Deeper with Convolutions", 2015).
#pragma once

#include <cstdint>

#include "base/random.h"

namespace yoke {

/// A rectangle of pixels.
struct Crop {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const Crop&) const = default;
};

/// A random rectangle of an image of height x width: its area is uniform in [least_area, 1] of the
/// image's, the logarithm of width / height uniform between those of 3/4 and 4/3, its place
/// uniform. A draw that does not fit into the image is repeated; after ten, the whole image.
Crop DrawCrop(Random& random, double least_area, int64_t height, int64_t width);

/// Stretches the rectangle of `from` [height, width] to `to` [height, width], which is another
/// array: interpolates linearly between the centres of pixels.
void StretchCrop(const Crop& crop, const float* from, int64_t height, int64_t width, float* to);

}  // namespace yoke
