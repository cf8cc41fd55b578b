// MomentumFamily: the common implementation of momentum and Nesterov momentum.
#pragma once

#include "optim/rule.h"

namespace yoke {

/// The direction of a momentum SGD step.
enum class MomentumForm {
  kHeavyBall,  ///< The velocity.
  kNesterov,   ///< Lookahead: the gradient plus momentum times the velocity.
};

/// With the options `momentum` and `weight_decay`:
///   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * (direct * g + along * m),
/// direct = 0, along = 1 for the heavy ball; direct = 1, along = momentum for Nesterov's form.
std::unique_ptr<UpdateRule> MakeMomentum(const Options& options, MomentumForm form);

}  // namespace yoke
