// Kernel: one operation compiled for a shape and a target.
#pragma once

#include <cstdint>
#include <string>

#include "base/check.h"
#include "tensor/device.h"

namespace yoke {

/// `Call` holds the addresses of one call, on the target's device; `Call::Addresses(reach)` passes
/// all of them to `reach`. Calls run in the order of the target's stream. One caller at a time.
template <typename Call>
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Forward(const Call& call) = 0;
  /// Writes all gradients that the shape and the call request.
  virtual void Backward(const Call& /*call*/) { throw Error(name() + " has no gradient"); }
  /// Bytes of the call's scratch memory, 64-byte aligned.
  virtual int64_t scratch_bytes() const { return 0; }
  /// Bytes kept from Forward to Backward of the same step.
  virtual int64_t saved_bytes() const { return 0; }
  virtual std::string name() const = 0;
};

}  // namespace yoke
