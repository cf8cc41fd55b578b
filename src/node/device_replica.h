// DeviceReplica: a replica of the values on a device with memory of its own, and its gradient.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "node/plans.h"

namespace yoke {

/// Values and batches are copied to the device, gradients and running statistics back, all through
/// host memory of the replica: the device never touches the caller's. Batches have a stream of
/// their own. The CPU may work between Begin and Finish. One caller at a time.
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

  /// The values of the next pass, on the host, for the caller to write.
  std::span<float> values();
  /// Copies the batch of the next pass there; one while a pass is under way.
  void Send(const Batch& batch);
  /// Copies the values there and starts the gradient of the mean loss of the batch sent last.
  void Begin();
  /// Waits for the end of the pass and writes the gradient to `gradients`. Throws Error if one of
  /// several devices does not answer within the context's device_timeout.
  StepResult Finish(Gradients& gradients);
  StepResult Step(const Batch& batch, Gradients& gradients) {
    Send(batch);
    Begin();
    return Finish(gradients);
  }

  /// The running statistics after the last pass.
  std::span<const float> statistics() const;
  const Device& device() const { return device_; }
  /// Of the last pass and the copies of its batch, unless the next one has been sent.
  double busy_seconds() const { return busy_seconds_; }
  std::string FirstNonFinite() const;

 private:
  struct Queue;

  void Await();

  Device& device_;
  const double timeout_;
  std::unique_ptr<Queue> queue_;  ///< All that the device touches.
  double busy_before_ = 0, sending_before_ = 0, busy_seconds_ = 0;
};

/// Tells the user that a device has failed, and why.
void LogGoingOnWithout(const Device& device, const std::string& why);

}  // namespace yoke
