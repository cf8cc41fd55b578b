// Resize: an image at another size.
#pragma once

#include "data/image.h"

namespace yoke {

/// The image stretched to `size`. Growing interpolates linearly between pixels; shrinking takes
/// averages, weighted by a triangle as wide as two of the new pixels, so that nothing is skipped.
Image Resize(const Image& image, const ImageSize& size);

}  // namespace yoke
