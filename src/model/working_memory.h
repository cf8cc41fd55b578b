// WorkingMemory: what a layer's plan takes besides the memory that the graph gives it.
#pragma once

#include <cstdint>

namespace yoke {

/// A second base of a LayerPlan.
class WorkingMemory {
 public:
  virtual ~WorkingMemory() = default;
  /// Bytes of a training step, about: its own, and those of row-sparse gradients.
  virtual int64_t WorkingBytes() const = 0;
};

}  // namespace yoke
