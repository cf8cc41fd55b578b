// A sum of weighted rows of a matrix, which sparse linear is made of in both directions.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// sum [width] = start + the sum over k < count of weights[k * step] times row rows[k * step] of
/// `matrix`, added in the order of k; then the ReLU if wanted.
struct WeightedRows {
  const float* matrix = nullptr;  ///< Rows of `width` elements.
  int64_t width = 0;
  int64_t count = 0;
  const int32_t* rows = nullptr;
  const float* weights = nullptr;  ///< Null: all are 1.
  int64_t step = 1;
  const float* start = nullptr;  ///< [width]; null: 0.
  bool relu = false;
  float* sum = nullptr;
};

using SumRows = void (*)(const WeightedRows& rows);
SumRows SumRowsAvx512();
/// That of this CPU.
SumRows SumRowsFor();

}  // namespace yoke::cpu
