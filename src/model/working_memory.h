// WorkingMemory: what a layer's plan takes besides the memory that the graph gives it.
#pragma once

#include <cmath>
#include <cstdint>

namespace yoke {

/// A second base of a LayerPlan, and of a GraphPlan for its layers. All numbers are estimates.
class WorkingMemory {
 public:
  virtual ~WorkingMemory() = default;
  /// Bytes of a training step that are the plan's own.
  virtual int64_t WorkingBytes() const = 0;
  /// Bytes of the row-sparse gradients that it writes, which all plans of a model share.
  virtual int64_t RowGradientBytes() const = 0;
};

/// Different ones of so many independent draws from `all`.
inline double DifferentOf(double all, double draws) { return all * -std::expm1(-draws / all); }

}  // namespace yoke
