// Vectors: named operations on whole arrays of values, for code that averages, moves and scales
// parameters. Arrays of one call are equally long; the first may be any of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kernel.h"

namespace yoke {

using Values = std::span<float>;
using ConstValues = std::span<const float>;

void Scale(Values y, float a);                                           ///< y = a y
void Divide(Values y, float a);                                          ///< y = y / a
void Add(Values y, ConstValues x);                                       ///< y += x
void AddScaled(Values y, float a, ConstValues x);                        ///< y += a x
void Subtract(Values y, ConstValues x);                                  ///< y -= x
void AddDifference(Values y, float a, ConstValues p, ConstValues q);     ///< y += a (p - q)
void ScaledDifference(Values y, float a, ConstValues p, ConstValues q);  ///< y = a (p - q)
void MoveTowards(Values y, float a, ConstValues x);                      ///< y = (1 - a) y + a x
/// y += a (sum - n y): towards n values with this sum, by a each.
void MoveTowardsAll(Values y, float a, ConstValues sum, float n);

/// Of a target's values.
struct ScaleCall {
  float* values = nullptr;
  int64_t count = 0;
  float factor = 1;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(values);
  }
};

/// values = factor * values
std::unique_ptr<Kernel<ScaleCall>> MakeScale(const Target& target = {});

}  // namespace yoke
