// DeviceReplica: a replica of the values on a device with memory of its own, and its gradient.
#pragma once

#include <memory>

#include "node/plans.h"

namespace yoke {

/// Values and batches are copied to the device, gradients and running statistics back. One caller
/// at a time.
class DeviceReplica {
 public:
  /// Compiles plans for batches of `usual` examples.
  DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual);

  /// Copies the values there, computes the gradient of the batch's mean loss, and copies it to
  /// params.gradients.
  StepResult Step(const Batch& batch, const ParamView& params);
  std::string FirstNonFinite() const { return plans_.FirstNonFinite(); }

 private:
  const ExecutorContext& context_;
  std::unique_ptr<Stream> stream_;
  Buffer values_;
  Gradients gradients_;
  Plans plans_;
};

}  // namespace yoke
