// Resize: resizes an image.
#pragma once

#include "data/image.h"

namespace yoke {

/// Stretches the image to `size`. Enlarging interpolates linearly between pixels; shrinking
/// averages with a triangle filter two new pixels wide, so no pixel is skipped.
Image Resize(const Image& image, const ImageSize& size);

}  // namespace yoke
