// The loops over active rows, by the CPU's instructions.
#pragma once

#include "kernels/active_rows/active_rows.h"

namespace yoke::cpu {

/// The rows [begin, end) of a call's used rows.
struct RowRange {
  const ActiveRowsShape& shape;
  const ActiveRowsCall& call;
  int64_t begin = 0;
  int64_t end = 0;
  float* copy = nullptr;            ///< For a row in f32: [inputs]; if weights are stored in bf16.
  float* input_gradient = nullptr;  ///< Of Backward: [batch, inputs], added to; null: not needed.
};

struct ActiveRowsLoops {
  void (*forward)(const RowRange& range);
  void (*backward)(const RowRange& range);
};

/// The fastest loops for this CPU.
ActiveRowsLoops ActiveRowsLoopsFor();
/// The AVX-512 loops; the CPU must support AVX-512.
ActiveRowsLoops ActiveRowsLoopsAvx512();

}  // namespace yoke::cpu
