// Adam with PyTorch's L2 penalty; equations in adam_family.h.
// Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015).
#include "optim/rules/adam_family.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry adam() {
  return {.name = "adam",
          .summary = "Adam: step sizes scaled by running moments of the gradient",
          .options = AdamOptions(CoupledDecayOption()),
          .make =
              [](const Options& options) {
                return MakeAdam({.beta1 = options.Float("beta1"),
                                 .beta2 = options.Float("beta2"),
                                 .epsilon = options.Float("epsilon"),
                                 .coupled_decay = options.Float("weight_decay")});
              },
          .rates = AdamRates()};
}

}  // namespace yoke::rule
