// DeviceReplica: a replica of the values on a device with memory of its own, and its gradient.
#pragma once

#include <memory>

#include "node/plans.h"

namespace yoke {

/// Values and batches are copied to the device, gradients and running statistics back. The CPU may
/// work between Begin and Finish. One caller at a time.
class DeviceReplica {
 public:
  /// Compiles plans for batches of `usual` examples.
  DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual);

  /// Copies the values there and starts the gradient of the batch's mean loss. Until Finish the
  /// batch and the gradients of `params` must stay; the values need not.
  void Begin(const Batch& batch, const ParamView& params);
  /// Waits until params.gradients and the running statistics in params.values are there.
  StepResult Finish();
  StepResult Step(const Batch& batch, const ParamView& params) {
    Begin(batch, params);
    return Finish();
  }
  const Device& device() const { return device_; }
  double busy_seconds() const { return stream_->busy_seconds(); }  ///< As of the last Finish.
  std::string FirstNonFinite() const { return plans_.FirstNonFinite(); }

 private:
  const ExecutorContext& context_;
  Device& device_;
  std::unique_ptr<Stream> stream_;
  Buffer values_;
  Gradients gradients_;
  Plans plans_;
  GraphPlan* plan_ = nullptr;  // of the pass under way
  ParamView params_;
  int64_t examples_ = 0;
};

}  // namespace yoke
