// Dropout: zeroes numbers at random and scales the rest, so that the expectation stays.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/types.h"

namespace yoke {

struct DropoutShape {
  int64_t batch = 0;
  int64_t count = 0;  ///< Numbers of one example.
  DType type = DType::kF32;
  double keep = 0.5;  ///< Probability that a number stays, in (0, 1]; what stays is divided by it.
};

/// Fills mask [batch, count]: 1 where a number stays, drawn from its example's key and its position
/// alone (the probability is rounded to a multiple of 2^-16).
void DrawMasks(const DropoutShape& shape, std::span<const uint64_t> keys, uint8_t* mask);

/// to = from * mask / keep for the whole batch; may be in place. Forward and backward are the same.
void ApplyMask(const DropoutShape& shape, const void* from, const uint8_t* mask, void* to);

}  // namespace yoke
