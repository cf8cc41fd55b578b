// Local response normalization: divides each element by a power of the sum of squares in the
// neighbouring channels (Krizhevsky et al. 2012).
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

/// y = x * s^-beta, s = k + alpha / size * (sum of x^2 over the `size` channels centred on this
/// one), as in Caffe, PyTorch and ONNX.
struct LocalResponseNormShape {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t pixels = 0;              ///< Height times width.
  DType type = DType::kF32;        ///< Type of input and output: f32 or bf16.
  Layout layout = Layout::kPlain;  ///< Layout of input and output.
  int64_t size = 5;                ///< Odd.
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  /// `size`, or less if so many channels do not exist: each window then has all of them.
  int64_t Window() const { return std::min(size, 2 * channels - 1); }
  int64_t Count() const { return batch * channels * pixels; }
};

struct LocalResponseNormCall {
  const void* input = nullptr;
  void* output = nullptr;
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;  ///< May be output_gradient's memory.
  void* scratch = nullptr;         ///< scratch_bytes() of the kernel, 64-byte aligned.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, output, output_gradient, input_gradient, scratch);
  }
};

using LocalResponseNormKernel = Kernel<LocalResponseNormCall>;

std::unique_ptr<LocalResponseNormKernel> MakeLocalResponseNorm(const LocalResponseNormShape& shape,
                                                               const Target& target = {});

}  // namespace yoke
