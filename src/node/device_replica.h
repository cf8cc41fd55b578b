// DeviceReplica: a replica of the values on a device with memory of its own, and its gradient.
#pragma once

#include <memory>
#include <vector>

#include "node/plans.h"

namespace yoke {

/// Values and batches are copied to the device, gradients and running statistics back, all through
/// memory of the replica, so that its device never touches that of the caller. The CPU may work
/// between Begin and Finish. One caller at a time.
class DeviceReplica {
 public:
  /// Compiles the plan for batches of `usual` examples. Throws UserError for a layer that the
  /// device does not take.
  DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual);
  /// Waits for what is under way. A device that has stalled is left alone: its queue and all memory
  /// that it may still touch stay until the process ends.
  ~DeviceReplica();
  DeviceReplica(const DeviceReplica&) = delete;
  DeviceReplica& operator=(const DeviceReplica&) = delete;

  /// Copies the values there and starts the gradient of the batch's mean loss.
  void Begin(const Batch& batch, const ParamView& params);
  /// Waits for the end of the pass and writes the gradient to `gradients`. Throws Error if the
  /// device does not answer within the context's device_timeout.
  StepResult Finish(Gradients& gradients);
  StepResult Step(const Batch& batch, const ParamView& params) {
    Begin(batch, params);
    return Finish(*params.gradients);
  }

  /// The running statistics after the last pass.
  const std::vector<float>& statistics() const;
  const Device& device() const { return device_; }
  double busy_seconds() const { return busy_seconds_; }  ///< Of the last pass.
  std::string FirstNonFinite() const;

 private:
  struct Queue;

  void Await();

  Device& device_;
  const double timeout_;
  std::unique_ptr<Queue> queue_;  ///< All that the device touches.
  double busy_before_ = 0, busy_seconds_ = 0;
};

}  // namespace yoke
