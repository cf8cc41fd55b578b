// Pooling: the maximum or the average of each window of each channel, or of all its pixels.
#pragma once

#include <memory>
#include <string>

#include "kernels/image.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

enum class Pooling : uint8_t {
  kMaximum,  ///< Ignores padding; the gradient goes to the first of equal maxima; a NaN is a
             ///< maximum.
  kAverage,  ///< Padding counts as zeros unless it is excluded. The part of a rounded-up last
             ///< window past the end does not count (as in Caffe and PyTorch).
};

struct PoolingShape {
  Pooling function = Pooling::kMaximum;
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  Window rows;  ///< Padding is less than the size, so each window covers some input.
  Window columns;
  DType type = DType::kF32;         ///< Type of input and output: f32 or bf16.
  Layout layout = Layout::kPlain;   ///< Layout of input and output.
  bool training = false;            ///< Backward will be called.
  bool leaves_out_padding = false;  ///< Exclude padding from averages.

  Shape Input() const { return {batch, channels, height, width}; }
  Shape Output() const { return {batch, channels, rows.Count(height), columns.Count(width)}; }
};

struct PoolingCall {
  const void* input = nullptr;
  void* output = nullptr;
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;
  void* saved = nullptr;  ///< saved_bytes() of the kernel; null when not training.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, output, output_gradient, input_gradient, saved);
  }
};

using PoolingKernel = Kernel<PoolingCall>;

std::unique_ptr<PoolingKernel> MakePooling(const PoolingShape& shape, const Target& target = {});

/// The mean of each channel over all pixels of an image.
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
