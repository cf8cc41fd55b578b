// Local response normalization: divides each element by a power of the sum of squares in the
// neighbouring channels (Krizhevsky et al. 2012).
#pragma once

#include <memory>
#include <string>

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

  int64_t Count() const { return batch * channels * pixels; }
};

class LocalResponseNormKernel {
 public:
  virtual ~LocalResponseNormKernel() = default;
  /// `scratch` has scratch_bytes() bytes, 64-byte aligned.
  virtual void Forward(const void* input, void* output, void* scratch) = 0;
  /// input_gradient may be output_gradient's memory.
  virtual void Backward(const void* input, const void* output_gradient, void* input_gradient,
                        void* scratch) = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  virtual std::string name() const = 0;
};

std::unique_ptr<LocalResponseNormKernel> MakeLocalResponseNorm(const LocalResponseNormShape& shape,
                                                               bool reference = false);

}  // namespace yoke
