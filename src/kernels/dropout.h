// Dropout: zeroes elements at random and scales the rest so that the expectation is unchanged.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "tensor/types.h"

namespace yoke {

struct DropoutShape {
  int64_t batch = 0;
  int64_t count = 0;  ///< Elements per example.
  DType type = DType::kF32;
  /// Probability of keeping an element, in (0, 1]; kept elements are divided by it.
  double keep = 0.5;
};

struct DropoutCall {
  /// With the ids of the batch's examples the key of their draws. A draw depends only on these
  /// and the element's position.
  uint64_t seed = 0, layer = 0;
  const int64_t* epoch = nullptr;     ///< One number; null: 0.
  const int64_t* examples = nullptr;  ///< [batch]; null: 0, 1, 2, ...
  uint8_t* mask = nullptr;     ///< [batch, count]: written by Forward (1: kept), read by Backward.
  const void* from = nullptr;  ///< The input, or the output's gradient.
  void* to = nullptr;          ///< from * mask / keep; may be in place.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(epoch, examples, mask, from, to);
  }
};

using DropoutKernel = Kernel<DropoutCall>;

/// The probability is rounded to a multiple of 2^-16.
std::unique_ptr<DropoutKernel> MakeDropout(const DropoutShape& shape, const Target& target = {});

}  // namespace yoke
