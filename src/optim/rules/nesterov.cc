// Nesterov momentum, in the form of PyTorch's SGD(nesterov=True); equations in momentum_family.h.
// Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
#include "optim/rules/momentum_family.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry nesterov() {
  return {.name = "nesterov",
          .summary = "SGD with Nesterov's momentum",
          .options = {MomentumOption(), CoupledDecayOption()},
          .make = [](const Options& options) {
            return MakeMomentum(options, MomentumForm::kNesterov);
          }};
}

}  // namespace yoke::rule
