// GlobalAverage: the mean of each channel over all pixels of an image.
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// output [batch, channels] = mean over pixels of image [batch, channels, height, width], in either
/// layout; both f32 or both bf16, with f32 sums. One pass, on the caller's kernel threads.
void AverageImages(const Tensor& image, const Tensor& output);
/// Sets each pixel's gradient to the gradient of its channel's mean divided by the number of
/// pixels.
void SpreadAverages(const Tensor& output_gradient, const Tensor& image_gradient);

}  // namespace yoke
