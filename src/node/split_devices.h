// SplitDevices: a batch divided over unlike devices in proportion to their measured speed (Hadjis
// et al., Omnivore, 2016); their gradients are summed.
#pragma once

#include <memory>
#include <vector>

#include "node/device_replica.h"
#include "node/device_times.h"

namespace yoke {

///   g = sum over d of (b_d / b) g_d,   b_d proportional to the examples per second of device d,
/// so that all are ready at the same time: t = 1 / (sum of 1 / t_d). Speeds are measured anew in
/// every step. A device that fails is left out from then on, and the CPU computes its part.
class SplitDevices : public Executor {
 public:
  explicit SplitDevices(const ExecutorContext& context);
  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override;
  std::string FirstNonFinite() const override;
  std::vector<DeviceWork> Work() const override { return times_.Work(); }
  Value State() const override { return times_.State(); }
  void Restore(const Value& state) override { times_.Restore(state); }

 private:
  /// A device and its part of the batch.
  struct Part {
    Part(const ExecutorContext& context, Device* device);

    std::unique_ptr<DeviceReplica> replica;  ///< Null: the CPU, or a device that has failed.
    std::unique_ptr<Plans> plans;            ///< Of the CPU.
    std::vector<float> values;               ///< Of another device: holds running statistics.
    Gradients gradients;
    Batch batch;
    double speed = 0;  ///< Examples per second; 0: not measured, or failed.
    StepResult result;
    std::string failure;  ///< Why it failed in this step, or "".
  };

  void Divide(const Batch& batch);
  static void Begin(Part& part, const ParamView& params);
  void Finish(size_t i, const ParamView& params);
  void Compute(Part& part, const ParamView& params);
  void Measure(size_t i, double seconds);
  void TakeOver(Part& part, const ParamView& params);
  void Sum(const ParamView& params, int64_t size) const;

  ExecutorContext context_;
  std::vector<std::unique_ptr<Part>> parts_;
  Part* cpu_ = nullptr;  ///< Computes for a device that has failed; null: the CPU is not used.
  DeviceTimes times_;
};

}  // namespace yoke
