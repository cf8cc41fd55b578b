// One pass over an output gradient: zeroes it where the ReLU was off, and sums it for the bias.
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke::cpu {

/// [rows, columns], row-major; columns are the outputs (channels).
struct GradientPass {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t step = 0;  ///< Row stride in elements; 0: columns.
  DType type = DType::kF32;
  /// The gradient is zeroed where this is not positive; null: no ReLU.
  const void* relu_output = nullptr;
  void* gradient = nullptr;        ///< Changed in place if there is a ReLU.
  float* bias_gradient = nullptr;  ///< [columns]: sums over rows; null: not needed.
  float* partial_sums = nullptr;   ///< Scratch memory [kGradientParts, columns]. With it, threads
                                   ///< divide rows instead of columns (for many rows).
};
inline constexpr int64_t kGradientParts = 64;

/// Zeroes the gradient where the output is not positive (NaN keeps it), in any element order.
struct MaskPass {
  int64_t count = 0;
  DType type = DType::kF32;
  const void* relu_output = nullptr;
  void* gradient = nullptr;  ///< Changed in place.
};
void Mask(const MaskPass& pass);

/// Multiplies all elements by a factor.
struct ScalePass {
  int64_t count = 0;
  DType type = DType::kF32;
  float factor = 1;
  void* gradient = nullptr;  ///< Changed in place.
};
void Scale(const ScalePass& pass);

/// The result does not depend on the number of threads.
void MaskAndSum(const GradientPass& pass);

/// A part of an output gradient to be masked and summed: rows [row, row + rows) of the columns
/// [column, column + columns).
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
