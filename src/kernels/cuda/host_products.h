// Host products: what the libraries compute, in plain loops, where no GPU is: in tests, and for a
// mock driver.
#pragma once

#include "kernels/cuda/products.h"

namespace yoke::cuda {

class HostProduct {
 public:
  HostProduct() = default;
  HostProduct(const ProductShape& shape, const Target& /*target*/) : s_(shape) {}
  static bool made() { return true; }
  static int64_t scratch_bytes() { return 64; }

  void Run(const ProductCall& call) const {
    Check(call.scratch != nullptr, "a product gets its scratch memory");
    for (int64_t j = 0; j < s_.n; ++j)
      for (int64_t i = 0; i < s_.m; ++i) Write(call, i, j);
    for (int64_t j = 0; s_.sums && j < s_.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < s_.k; ++l) sum += B(call, l, j);
      static_cast<float*>(call.bias)[j] = sum;
    }
  }

 private:
  static float At(const void* elements, DType type, int64_t i) {
    if (type == DType::kBf16) return static_cast<float>(static_cast<const Bf16*>(elements)[i]);
    return static_cast<const float*>(elements)[i];
  }
  float A(const ProductCall& call, int64_t i, int64_t l) const {
    return At(call.a, s_.type, s_.transposed_a ? i * s_.lead_a + l : l * s_.lead_a + i);
  }
  float B(const ProductCall& call, int64_t l, int64_t j) const {
    return At(call.b, s_.type, s_.transposed_b ? l * s_.lead_b + j : j * s_.lead_b + l);
  }
  void Write(const ProductCall& call, int64_t i, int64_t j) const {
    float sum = 0;
    for (int64_t l = 0; l < s_.k; ++l) sum += A(call, i, l) * B(call, l, j);
    sum *= call.alpha;
    const int64_t at = j * s_.lead_d + i;
    if (s_.adds) sum += At(call.d, s_.result, at);
    if (s_.bias) sum += At(call.bias, s_.result, i);
    if (s_.relu && sum < 0) sum = 0;
    if (s_.result == DType::kBf16)
      static_cast<Bf16*>(call.d)[at] = Bf16(sum);
    else
      static_cast<float*>(call.d)[at] = sum;
  }

  ProductShape s_;
};

/// Runs the reference's convolution, with weights and images as cuDNN gets them.
class HostConvolver {
 public:
  HostConvolver() = default;
  HostConvolver(const ConvolutionShape& shape, ConvolutionPass pass, const Target& /*target*/)
      : s_(shape), pass_(pass) {}
  static bool made() { return true; }
  static int64_t scratch_bytes() { return 64; }
  void Run(const ConvolverCall& call) const;

 private:
  ConvolutionShape s_;
  ConvolutionPass pass_ = ConvolutionPass::kForward;
};

}  // namespace yoke::cuda
