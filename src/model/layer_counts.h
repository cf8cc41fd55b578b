// LayerCounts: what a layer counts of training besides the loss, for the record of an epoch.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace yoke {

/// A second base of a LayerState.
class LayerCounts {
 public:
  virtual ~LayerCounts() = default;
  /// Name and value of each, since the last call; empty if nothing happened. Call it between steps.
  virtual std::vector<std::pair<std::string, double>> TakeCounts() = 0;
  /// Seconds of the layer's passes since the last TakeCounts.
  virtual double Seconds() const = 0;
};

}  // namespace yoke
