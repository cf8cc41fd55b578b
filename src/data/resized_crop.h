// Random resized crops: a random rectangle of an image, stretched to the image's size (Szegedy et
// al., "Going Deeper with Convolutions", 2015).
#pragma once

#include <cstdint>

#include "base/random.h"
#include "tensor/batch.h"

namespace yoke {

/// A random rectangle of an image of height x width: its area is uniform in [least_area, 1] of the
/// image's, the logarithm of width / height uniform between those of 3/4 and 4/3, its place
/// uniform. A draw that does not fit into the image is repeated; after ten, the whole image.
ImageCrop DrawCrop(Random& random, double least_area, int64_t height, int64_t width);

}  // namespace yoke
