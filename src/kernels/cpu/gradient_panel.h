// A part of an output gradient that is masked and summed, and where the loops are.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Rows [row, row + rows) of the columns [column, column + columns).
struct GradientPanel {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  int64_t step = 0;                   ///< Numbers of a whole row.
  const void* relu_output = nullptr;  ///< Null: no ReLU.
  void* gradient = nullptr;
  float* sums = nullptr;  ///< [columns], added to.
};

struct GradientLoops {
  void (*f32)(const GradientPanel& panel);
  void (*bf16)(const GradientPanel& panel);
};

/// The fastest loops of this CPU.
GradientLoops GradientLoopsFor();
/// Those of AVX-512, which the machine must have.
GradientLoops GradientLoopsAvx512();

}  // namespace yoke::cpu
