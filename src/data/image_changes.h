// Image changes for augmentation: rotation, colours, holes and mixing of images, and random crops
// that are resized.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "tensor/batch.h"
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

/// A random rectangle of an image, to be stretched to the image's size (Szegedy et al., "Going
/// Deeper with Convolutions", 2015), of height x width: its area is uniform in [least_area, 1] of
/// the image's, the logarithm of width / height uniform between those of 3/4 and 4/3, its place
/// uniform. A draw that does not fit into the image is repeated; after ten, the whole image.
ImageCrop DrawCrop(Random& random, double least_area, int64_t height, int64_t width);

}  // namespace yoke
