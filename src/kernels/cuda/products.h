// Products: matrix products by cuBLASLt and convolutions by cuDNN, which are loaded at run time.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/convolution/convolution.h"
#include "tensor/types.h"

namespace yoke::cuda {

/// A matrix product as BLAS states it, by column: what linear layers ask of cuBLASLt, and of plain
/// loops in tests. D[m, n] = alpha op(A) op(B) (+ D if it adds), by column, with an epilogue. A and
/// B are of `type`. op(A) is [m, k], op(B) [k, n].
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false;
  int64_t lead_a = 0, lead_b = 0, lead_d = 0;  ///< From column to column in memory.
  DType type = DType::kF32;
  DType result = DType::kF32;
  bool bias = false;  ///< Of `result`'s type, [m]: added to each column.
  bool relu = false;
  bool sums = false;  ///< The bias is written: [n] sums of op(B) over k, in f32.
  bool adds = false;
  bool aligned = true;  ///< Addresses are multiples of 16 bytes, else of an element.
};

struct ProductCall {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  void* bias = nullptr;
  float alpha = 1;
  void* scratch = nullptr;
};

/// A product whose algorithm is chosen when it is made.
class LibraryProduct {
 public:
  LibraryProduct() = default;
  /// For calls in the order of the target's stream.
  LibraryProduct(const ProductShape& shape, const Target& target);
  /// False if the library has no such product (an epilogue, say).
  bool made() const { return plan_ != nullptr; }
  int64_t scratch_bytes() const;
  void Run(const ProductCall& call) const;

 private:
  class Plan;
  std::shared_ptr<const Plan> plan_;
};

/// The libraries' workspaces begin at multiples of 256 bytes: so many more, and the place in them.
inline int64_t WithAlignment(int64_t bytes) { return bytes > 0 ? bytes + 256 : 0; }
inline void* Aligned(void* scratch) {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch) + 255) / 256 * 256);
}

/// What a convolution computes; images and weights with channels last: weights are [outputs, kernel
/// height, kernel width, channels / groups].
enum class ConvolutionPass : uint8_t {
  kForward,
  kForwardBias,  ///< With bias and, if the shape says so, ReLU.
  kInput,        ///< The gradient of the input.
  kWeight,       ///< Of the weight, in f32.
  kNarrowWeight  ///< Of the weight, in the shape's type.
};

struct ConvolverCall {
  void* input = nullptr;  ///< Or its gradient.
  void* weight = nullptr;
  const void* bias = nullptr;
  void* output = nullptr;  ///< Or its gradient.
  void* scratch = nullptr;
};

class LibraryConvolver {
 public:
  LibraryConvolver() = default;
  LibraryConvolver(const ConvolutionShape& shape, ConvolutionPass pass, const Target& target);
  bool made() const { return plan_ != nullptr; }
  int64_t scratch_bytes() const;
  void Run(const ConvolverCall& call) const;

 private:
  class Plan;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace yoke::cuda
