// RunningMean: [train] average: the model is an exponential mean of the weights, which training
// does not see.
#pragma once

#include <cstdint>

#include "params/layout.h"
#include "tensor/array.h"
#include "train/job/job.h"

namespace yoke {

/// Throws UserError unless each step changes the weights in place, once, and they are all of the
/// model. `in_place`: by the executor.
void RequireRunningMean(const Job& job, bool in_place, const ParamLayout& layout);

class RunningMean {
 public:
  /// Begins at `values`, on their device.
  RunningMean(double decay, Array<const float> values);
  Array<float> values() const { return AllOf<float>(mean_); }
  int64_t bytes() const { return mean_.bytes(); }
  void Restart(Array<const float> values);
  /// By 1 - min(decay, (1 + t) / (10 + t)) towards the values, after t updates.
  void Move(Array<const float> values, int64_t updates);

 private:
  double decay_;
  Buffer mean_;
};

}  // namespace yoke
