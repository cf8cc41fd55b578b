// MomentumFamily: the pass that momentum and Nesterov's momentum share.
#pragma once

#include "optim/rule.h"

namespace yoke {

/// What a step of momentum SGD goes along, besides its settings.
enum class MomentumForm {
  kHeavyBall,  ///< The velocity.
  kNesterov,   ///< One velocity ahead: the gradient and momentum times the velocity.
};

/// With the options `momentum` and `weight_decay`:
///   g <- g + weight_decay * w;  m <- momentum * m + g;  w <- w - rate * (direct * g + along * m),
/// direct = 0, along = 1 for the heavy ball; direct = 1, along = momentum for Nesterov's form.
std::unique_ptr<UpdateRule> MakeMomentum(const Options& options, MomentumForm form);

}  // namespace yoke
