// FullyConnected: what a graph asks only of layers in which every output reads every input: the cut
// below a head, the search for the best outputs, and plain descent during Backward.
#pragma once

#include <memory>

#include "model/layer.h"

namespace yoke {

/// A layer's second base. Its parameters are weight [outputs, inputs] and optionally bias
/// [outputs].
class FullyConnected {
 public:
  virtual ~FullyConnected() = default;
  /// True if in evaluation it computes exactly input * weight^T + bias of a dense input.
  virtual bool IsProduct() const = 0;
  /// A plan for training whose Backward adds to the weight (ParamRef::update) instead of writing
  /// its gradient; null if the layer has none, or if Plan's is faster.
  virtual std::unique_ptr<LayerPlan> PlanInPlace(const PlanRequest& /*request*/) const {
    return nullptr;
  }
};

}  // namespace yoke
