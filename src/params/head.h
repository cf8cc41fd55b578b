// Head: the upper part of a model that is cut in two, so that it can be computed elsewhere.
#pragma once

#include <functional>
#include <memory>

#include "base/cost.h"
#include "params/store.h"
#include "tensor/batch.h"

namespace yoke {

/// Takes activations and labels, and returns the loss and the activations' gradient. It manages its
/// own parameters.
class Head {
 public:
  virtual ~Head() = default;
  /// Processes one batch, whose dense input holds the activations. Returns the mean loss, and
  /// writes its gradient with respect to the activations to `gradient`, which has their shape.
  virtual double Step(const Batch& batch, float* gradient) = 0;
};

/// Describes the head that can be cut from a model, for a strategy that may serve it.
struct HeadOffer {
  int first_slice = 0;  ///< The head's slices are this one and all later ones; all are dense.
  int64_t width = 0;    ///< Elements in one example's activations.
  std::function<Cost(int64_t batch)> price = {};
  /// Makes a head that computes locally with these values and writes its slices' gradients. It
  /// accesses nothing else in the view.
  std::function<std::unique_ptr<Head>(const ParamView& params)> make = {};
};

}  // namespace yoke
