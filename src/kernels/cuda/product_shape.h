// ProductShape: a matrix product as BLAS states it, by column: what linear layers ask of cuBLASLt,
// and of plain loops in tests.
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke::cuda {

/// D[m, n] = alpha op(A) op(B) (+ D if it adds), by column, with an epilogue. A and B are of
/// `type`. op(A) is [m, k], op(B) [k, n].
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

}  // namespace yoke::cuda
