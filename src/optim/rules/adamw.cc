// AdamW: Adam whose weight decay acts on the values instead of the moments; equations in
// adam_family.h. Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
#include "optim/rules/adam_family.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry adamw() {
  return {.name = "adamw",
          .summary = "Adam with decoupled weight decay",
          .options = AdamOptions(WeightDecayOption(
              "Each update first shrinks the values by this times the learning rate.", 0.01)),
          .make =
              [](const Options& options) {
                return MakeAdam({.beta1 = options.Float("beta1"),
                                 .beta2 = options.Float("beta2"),
                                 .epsilon = options.Float("epsilon"),
                                 .decoupled_decay = options.Float("weight_decay")});
              },
          .rates = AdamRates()};
}

}  // namespace yoke::rule
