// GlobalAverage: the mean of each channel over all pixels of an image.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

struct GlobalAverageCall {
  Tensor image;    ///< [batch, channels, height, width], in either layout.
  Tensor average;  ///< [batch, channels]

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(image.data, average.data);
  }
};

using GlobalAverageKernel = Kernel<GlobalAverageCall>;

/// Forward writes the average: both f32 or both bf16, with f32 sums. Backward, where both are
/// gradients, sets each pixel's to that of its channel's mean divided by the number of pixels. One
/// pass, on the caller's kernel threads.
std::unique_ptr<GlobalAverageKernel> MakeGlobalAverage(const Target& target = {});

}  // namespace yoke
