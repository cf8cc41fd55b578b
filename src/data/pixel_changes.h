// Pixel changes: rotation, colours and holes of images that are stored in bytes, for augmentation.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/types.h"

namespace yoke {

/// An image of bytes [channels, height, width], in place.
struct BytesOfImage {
  std::span<uint8_t> bytes;
  const Shape& shape;
};

/// Turns the image about its centre, counter-clockwise, by interpolation; what was outside is
/// black.
void Rotate(const BytesOfImage& image, double degrees);
/// Exchanges top and bottom.
void FlipVertically(const BytesOfImage& image);

/// Factors, as torchvision's ColorJitter applies them: 1 leaves the image as it is.
struct ColourFactors {
  double brightness = 1;
  double contrast = 1;    ///< Of the differences from the mean of the image in grey.
  double saturation = 1;  ///< Of the differences from each pixel in grey.
};
void ChangeColours(const BytesOfImage& image, const ColourFactors& factors);

/// Makes a square of `side` pixels around (y, x) grey, the mean of the image; it may lie partly
/// outside (DeVries and Taylor, "Improved regularization of convolutional neural networks with
/// cutout", 2017).
void CutOut(const BytesOfImage& image, int64_t side, int64_t y, int64_t x);

/// image = part * image + (1 - part) * other (Zhang et al., "mixup", 2018).
void Mix(std::span<uint8_t> image, std::span<const uint8_t> other, double part);

}  // namespace yoke
