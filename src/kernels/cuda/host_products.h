// Host products: what the libraries compute, in plain loops, where no GPU is: in tests, and for a
// mock driver.
#pragma once

#include <numeric>
#include <vector>

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
    // By row: op(A), and op(B) transposed.
    const std::vector<float> a = Rows(call.a, s_.m, s_.transposed_a, s_.lead_a);
    const std::vector<float> b = Rows(call.b, s_.n, !s_.transposed_b, s_.lead_b);
    for (int64_t j = 0; j < s_.n; ++j)
      for (int64_t i = 0; i < s_.m; ++i)
        Write(call, i, j, Dot(a.data() + i * s_.k, b.data() + j * s_.k, s_.k));
    for (int64_t j = 0; s_.sums && j < s_.n; ++j)
      static_cast<float*>(call.bias)[j] =
          std::accumulate(b.begin() + j * s_.k, b.begin() + (j + 1) * s_.k, 0.0F);
  }

 private:
  static float At(const void* elements, DType type, int64_t i) {
    if (type == DType::kBf16) return static_cast<float>(static_cast<const Bf16*>(elements)[i]);
    return static_cast<const float*>(elements)[i];
  }
  static float Dot(const float* a, const float* b, int64_t count) {
    return std::inner_product(a, a + count, b, 0.0F);
  }
  /// [count, k]; in memory its rows lie `lead` apart, or, if not, its columns.
  std::vector<float> Rows(const void* from, int64_t count, bool rows, int64_t lead) const {
    std::vector<float> to(static_cast<size_t>(count * s_.k));
    for (int64_t i = 0; i < count; ++i)
      for (int64_t l = 0; l < s_.k; ++l)
        to[i * s_.k + l] = At(from, s_.type, rows ? i * lead + l : l * lead + i);
    return to;
  }
  void Write(const ProductCall& call, int64_t i, int64_t j, float sum) const {
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
      : s_(shape), pass_(pass), made_(true) {}
  bool made() const { return made_; }
  static int64_t scratch_bytes() { return 64; }
  void Run(const ConvolverCall& call) const;

 private:
  ConvolutionShape s_;
  ConvolutionPass pass_ = ConvolutionPass::kForward;
  bool made_ = false;
};

}  // namespace yoke::cuda
