// One pass over an output gradient: zero it where the ReLU was off, and sum it for the bias.
#pragma once

#include "tensor/types.h"

namespace yoke::cpu {

/// [rows, columns], row-major; columns are the outputs (channels).
struct GradientPass {
  int64_t rows = 0;
  int64_t columns = 0;
  DType type = DType::kF32;
  const void* relu_output = nullptr;  ///< Not above 0 where the gradient becomes 0; null: no ReLU.
  void* gradient = nullptr;           ///< Changed in place when there is a ReLU.
  float* bias_gradient = nullptr;     ///< [columns]: sums over rows; null: not wanted.
  float* partial_sums = nullptr;  ///< [kGradientParts, columns] of scratch memory: with it, threads
                                  ///< share rows instead of columns (many rows).
};
inline constexpr int64_t kGradientParts = 64;

/// Numbers in any order; where the output is not above 0 the gradient becomes 0 (a NaN keeps it).
struct MaskPass {
  int64_t count = 0;
  DType type = DType::kF32;
  const void* relu_output = nullptr;
  void* gradient = nullptr;  ///< Changed in place.
};
void Mask(const MaskPass& pass);

/// All numbers times a factor.
struct ScalePass {
  int64_t count = 0;
  DType type = DType::kF32;
  float factor = 1;
  void* gradient = nullptr;  ///< Changed in place.
};
void Scale(const ScalePass& pass);

/// The result does not depend on the number of threads.
void MaskAndSum(const GradientPass& pass);

}  // namespace yoke::cpu
