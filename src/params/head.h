// Head: the upper part of a model that is cut in two, so that it may be computed elsewhere.
#pragma once

#include <functional>
#include <memory>

#include "base/cost.h"
#include "params/store.h"
#include "tensor/batch.h"

namespace yoke {

/// Activations and labels in, loss and activation gradients out; its parameters are its own matter.
class Head {
 public:
  virtual ~Head() = default;
  /// One batch, whose dense input are activations: returns the mean loss, and in `gradient`, which
  /// has their shape, the gradient of the mean loss by them.
  virtual double Step(const Batch& batch, float* gradient) = 0;
};

/// What a model says of the head that it can be cut from, for whoever may serve it.
struct HeadOffer {
  int first_slice = 0;  ///< Its slices are this one and all behind it, dense each.
  int64_t width = 0;    ///< Numbers of one example's activations.
  std::function<Cost(int64_t batch)> price = {};
  /// A head that computes here: at these values, and writes its slices' gradients. It reads and
  /// writes nothing else of the view.
  std::function<std::unique_ptr<Head>(const ParamView& params)> make = {};
};

}  // namespace yoke
