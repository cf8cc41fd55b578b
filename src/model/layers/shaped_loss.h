// Shaped losses: what training changes of a loss: smoothed labels, weights of classes, of an
// auxiliary head's layer and of examples.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cross_entropy/cross_entropy.h"
#include "model/layer.h"

namespace yoke::layer {

struct LossShaping {
  /// The target is 1 - smoothing at the class, plus smoothing / outputs everywhere. Szegedy et al.,
  /// "Rethinking the Inception Architecture for Computer Vision" (2016), section 7.
  double smoothing = 0;
  std::vector<double> class_weights = {};  ///< Factors on the losses, by class; empty: 1.

  bool Changes() const { return smoothing > 0 || !class_weights.empty(); }
};

/// The plan of a loss on the CPU with classes as labels, shaped.
std::unique_ptr<LayerPlan> ShapedLoss(std::unique_ptr<LayerPlan> plan,
                                      const CrossEntropyShape& shape, LossShaping shaping);

/// The option `weight` of a loss.
OptionSpec LossWeightOption();

/// A plan of `plan`'s loss, whose values and gradients are multiplied by `weight` and, if the batch
/// has weights, by each example's.
std::unique_ptr<LayerPlan> WeighLoss(std::unique_ptr<LayerPlan> plan, double weight,
                                     const Target& target);

}  // namespace yoke::layer
