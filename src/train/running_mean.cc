// RunningMean: starts fast, so that early weights do not stay in it.
#include "train/running_mean.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/vectors.h"

namespace yoke {

void RequireRunningMean(const Job& job, bool in_place, const ParamLayout& layout) {
  const std::string& where = job.train.Where("average");
  const std::string strategy = job.cluster.String("strategy");
  Require(strategy == "none" || strategy == "allreduce",
          "{}: expected strategy none or allreduce, whose replicas are equal after each step",
          where);
  Require(!in_place, "{}: executor {} makes many updates in a step", where,
          job.node.String("executor"));
  Require(!layout.HasRows(), "{}: expected a model without sparse or hashed layers", where);
}

RunningMean::RunningMean(double decay, Array<const float> values)
    : decay_(decay), mean_(BufferLike(values)) {
  Restart(values);
}

void RunningMean::Restart(Array<const float> values) { Copy(this->values(), values); }

void RunningMean::Move(Array<const float> values, int64_t updates) {
  const auto t = static_cast<double>(updates);
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  MoveTowards(this->values(), static_cast<float>(1 - decay), values);
}

}  // namespace yoke
