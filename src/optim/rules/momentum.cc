// Momentum (heavy ball), in the form of PyTorch's SGD without dampening; equations in
// momentum_family.h.
// Polyak, "Some methods of speeding up the convergence of iteration methods" (1964).
#include "optim/rules/momentum_family.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry momentum() {
  return {.name = "momentum",
          .summary = "SGD with momentum (Polyak's heavy ball)",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = [](const Options& options) {
            return MakeMomentum(options, MomentumForm::kHeavyBall);
          }};
}

}  // namespace yoke::rule
