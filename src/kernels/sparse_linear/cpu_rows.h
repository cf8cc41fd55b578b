// A sum of weighted rows of a matrix, which sparse linear is made of in both directions.
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke::cpu {

/// sum [width] = start + the sum over k < count of weights[k * step] times row rows[k * step] of
/// `matrix`, added in the order of k; then the ReLU if wanted.
template <typename T>
struct WeightedRows {
  const T* matrix = nullptr;  ///< Rows of `width` elements.
  int64_t width = 0;
  int64_t count = 0;
  const int32_t* rows = nullptr;
  const float* weights = nullptr;  ///< Null: all are 1.
  int64_t step = 1;
  const float* start = nullptr;  ///< [width]; null: 0.
  bool relu = false;
  float* sum = nullptr;
};

/// By the type of the matrix.
struct SumRows {
  void (*f32)(const WeightedRows<float>& rows);
  void (*bf16)(const WeightedRows<Bf16>& rows);
};
SumRows SumRowsAvx512();
/// Those of this CPU.
SumRows SumRowsFor();

}  // namespace yoke::cpu
