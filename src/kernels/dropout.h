// Dropout: zeroes numbers at random and scales the rest, so that the expectation stays.
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke {

struct DropoutShape {
  int64_t batch = 0;
  int64_t count = 0;  ///< Numbers of one example.
  DType type = DType::kF32;
  double keep = 0.5;  ///< Probability that a number stays, in (0, 1]; what stays is divided by it.
};

/// Fills mask[0, count): 1 where a number of this example stays, drawn from `key` and the position
/// alone (probability rounded to a multiple of 2^-16).
void DrawMask(uint64_t key, double keep, int64_t count, uint8_t* mask);

/// to = from * mask / keep for the whole batch; may be in place. Forward and backward are the same.
void ApplyMask(const DropoutShape& shape, const void* from, const uint8_t* mask, void* to);

}  // namespace yoke
