// A part of an output gradient to be masked and summed, and the functions that do it.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Rows [row, row + rows) of the columns [column, column + columns).
struct GradientPanel {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  int64_t step = 0;                   ///< Row stride in elements.
  const void* relu_output = nullptr;  ///< Null: no ReLU.
  void* gradient = nullptr;
  float* sums = nullptr;  ///< [columns], added to.
};

struct GradientLoops {
  void (*f32)(const GradientPanel& panel);
  void (*bf16)(const GradientPanel& panel);
};

/// The fastest loops for this CPU.
GradientLoops GradientLoopsFor();
/// The AVX-512 loops; the CPU must support AVX-512.
GradientLoops GradientLoopsAvx512();

}  // namespace yoke::cpu
