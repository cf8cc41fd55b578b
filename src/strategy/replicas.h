// Replicas: the values of a rank as an array and in a message, the mean of all ranks' values, and
// what a rank counts.
#pragma once

#include <vector>

#include "base/check.h"
#include "comm/communicator.h"
#include "kernels/vectors.h"
#include "params/store.h"
#include "strategy/side_thread.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// A replica's packed values on the host, running statistics included.
inline Values AllValues(const ParamStore& params) { return params.values().Host(); }

/// The values of another rank's replica in a message, behind a header of so many bytes. Throws
/// Error if it does not hold `count` of them.
inline ConstValues ValuesIn(const Message& message, size_t count, size_t header = 0) {
  Check(message.bytes.size() == header + count * sizeof(float),
        "ranks disagree about the size of a model");
  return {reinterpret_cast<const float*>(message.bytes.data() + header), count};
}

/// Updates, traffic and waits of a rank that exchanges on a side thread only.
inline ExchangeCounts CountsOfReplica(const Update& update, const Communicator& world,
                                      const SideThread& thread) {
  ExchangeCounts counts = update.counts();
  counts.traffic = world.traffic();  // barriers and models
  counts.traffic += thread.traffic();
  counts.seconds_waiting = thread.seconds_waited();
  return counts;
}

/// Called by all ranks: writes the mean of their values to `mean`, on rank 0, and returns it
/// (elsewhere the rank's own values). Each rank's counts `weight` times; the mean of the weights is
/// 1. A single rank's values are returned as they are. No replica changes.
inline Array<const float> MeanOfReplicas(const Communicator& world, const ParamStore& params,
                                         Buffer& mean, float weight = 1) {
  if (world.size() == 1) return params.values();
  const Array<float> values = params.values();
  if (mean.bytes() == 0) mean = BufferLike(values);
  const Array<float> sum = AllOf<float>(mean);
  Copy(sum, values);
  if (weight != 1) Scale(sum, weight);
  world.Reduce(sum, 0);
  if (world.rank() > 0) {
    mean = {};  // another copy of the model until the next evaluation
    return values;
  }
  Divide(sum, static_cast<float>(world.size()));
  return sum;
}

}  // namespace yoke::strategy
