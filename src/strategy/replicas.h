// Replicas: the values of a rank as an array, and the mean of all ranks' values.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "kernels/vectors.h"
#include "params/store.h"

namespace yoke::strategy {

/// A replica's packed values, running statistics included.
inline Values AllValues(const ParamStore& params) {
  return {params.values(), static_cast<size_t>(params.layout().size())};
}

/// Called by all ranks: writes the mean of their values to `mean`, on rank 0 (elsewhere `mean` is
/// overwritten), and returns it. Each rank's counts `weight` times; the mean of the weights is 1. A
/// single rank's values are returned as they are. No replica changes.
inline const float* MeanOfReplicas(const Communicator& world, const ParamStore& params,
                                   std::vector<float>& mean, float weight = 1) {
  if (world.size() == 1) return params.values();
  const Values mine = AllValues(params);
  mean.assign(mine.begin(), mine.end());
  if (weight != 1) Scale(mean, weight);
  world.Reduce(mean, 0);
  Divide(mean, static_cast<float>(world.size()));
  return mean.data();
}

}  // namespace yoke::strategy
