// SplitDevices: a batch divided over unlike devices in proportion to their measured speed (Hadjis
// et al., Omnivore, 2016); their gradients are summed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/device_replica.h"
#include "node/device_usage.h"
#include "node/division.h"
#include "node/estimate.h"
#include "node/sub_batch.h"

namespace yoke {

///   g = sum over d of (b_d / b) g_d,   b_d proportional to the examples per second of device d,
/// so that all are ready at the same time: t = 1 / (sum of 1 / t_d). Speeds are measured in every
/// step; the division changes when that saves time, because new sizes need new plans. Stated
/// `fractions` of the batch, one for each device, replace measured speed. A device that fails or
/// stalls is left out from then on, and another one computes its part.
class SplitDevices : public Executor {
 public:
  explicit SplitDevices(const ExecutorContext& context, const std::vector<double>& fractions = {});
  ~SplitDevices() override;
  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override;
  int64_t SmallestBatch(int64_t step, int64_t rest) const override {
    const bool enough = Executor::SmallestBatch(step, rest) >= 2 * std::ssize(parts_);
    return enough ? 2 : 1;  // Division
  }
  std::string FirstNonFinite() const override;
  std::vector<DeviceWork> Work() const override { return usage_.Work(); }
  Value State() const override { return usage_.State(); }
  void Restore(const Value& state) override { usage_.Restore(state); }

 private:
  struct Part;

  const std::vector<int64_t>& Divide(int64_t examples);
  void Begin(Part& part, const ParamView& params) const;
  void Finish(size_t i);
  void ComputeOnCpu(Part& part, const ParamView& params);
  void TakeOver(Part& part, const ParamView& params);
  bool InVirtualTime() const;
  double Seconds(Part& part, double measured) const;
  double VirtualSeconds(int64_t examples) const;
  void Sum(const ParamView& params, int64_t size);

  ExecutorContext context_;
  std::unique_ptr<Plans> cpu_plans_;  ///< Null: the CPU is not used.
  std::vector<std::unique_ptr<Part>> parts_;
  Division start_;                         ///< What a step of a new size starts from.
  std::map<int64_t, Division> divisions_;  ///< By examples of a step.
  Division* division_ = nullptr;           ///< Of this step.
  PartRows rows_;
  DeviceUsage usage_;
};

/// The division of a batch at which all devices take the same time, each at the speed that it has
/// with its own part: a fixed point of b_d = b s_d(b_d) / sum of s, found as the executor finds it.
///   seconds = max over d of (copies + pass(b_d)) + what the caller does at the CPU's bandwidth:
///             12 bytes a dense gradient's element and part, for the sum; the values and the
///             gradient of each device other than the CPU, read and written
ExecutorEstimate EstimateSplitDevices(const EstimateRequest& request);

}  // namespace yoke
