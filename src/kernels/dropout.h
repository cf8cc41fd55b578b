// Dropout: zeroes elements at random and scales the rest so that the expectation is unchanged.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/types.h"

namespace yoke {

struct DropoutShape {
  int64_t batch = 0;
  int64_t count = 0;  ///< Elements per example.
  DType type = DType::kF32;
  /// Probability of keeping an element, in (0, 1]; kept elements are divided by it.
  double keep = 0.5;
};

/// Fills mask [batch, count] with 1 for kept elements. A draw depends only on the example's key and
/// the position. The probability is rounded to a multiple of 2^-16.
void DrawMasks(const DropoutShape& shape, std::span<const uint64_t> keys, uint8_t* mask);

/// to = from * mask / keep for the whole batch; may be in place. Forward and backward are
/// identical.
void ApplyMask(const DropoutShape& shape, const void* from, const uint8_t* mask, void* to);

}  // namespace yoke
