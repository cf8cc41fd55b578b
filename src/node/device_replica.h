// DeviceReplica: a replica of the values on a device with memory of its own, and its gradient.
#pragma once

#include <memory>
#include <vector>

#include "node/plans.h"

namespace yoke {

/// Values and batches are copied to the device, gradients and running statistics back. The CPU may
/// work between Begin and Finish. One caller at a time.
class DeviceReplica {
 public:
  /// Compiles the plan for batches of `usual` examples. Throws UserError for a layer that the
  /// device does not take.
  DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual);

  /// Copies the values there and starts the gradient of the batch's mean loss. Until Finish the
  /// batch and the gradients of `params` must stay as they are; the values need not.
  void Begin(const Batch& batch, const ParamView& params);
  /// Waits until params.gradients are there.
  StepResult Finish();
  StepResult Step(const Batch& batch, const ParamView& params) {
    Begin(batch, params);
    return Finish();
  }
  /// After a failure: waits for what is still under way, so that its memory may go.
  void Drain() noexcept;

  /// The running statistics after the last pass.
  const std::vector<float>& statistics() const { return statistics_; }
  const Device& device() const { return device_; }
  double busy_seconds() const { return busy_seconds_; }  ///< Of the last pass.
  std::string FirstNonFinite() const { return plans_.FirstNonFinite(); }

 private:
  const ExecutorContext& context_;
  Device& device_;
  std::vector<float> statistics_;
  std::unique_ptr<Stream> stream_;
  Buffer values_;
  Gradients gradients_;
  Plans plans_;
  GraphPlan* plan_ = nullptr;  // of the pass under way
  Gradients* target_ = nullptr;
  int64_t examples_ = 0;
  double busy_before_ = 0, busy_seconds_ = 0;
};

}  // namespace yoke
