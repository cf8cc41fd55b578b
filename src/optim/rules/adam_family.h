// AdamFamily: the common implementation of Adam and AdamW.
#pragma once

#include "optim/rule.h"

namespace yoke {

/// Settings of Adam and AdamW.
struct AdamSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double coupled_decay = 0;    ///< This times the value is added to the gradient (Adam).
  double decoupled_decay = 0;  ///< This times rate and value is subtracted from the value (AdamW).
};

/// Where t is the number of this update, starting at 1:
///   w <- w * (1 - rate * decoupled_decay);  g <- g + coupled_decay * w;
///   m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
///   w <- w - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
std::unique_ptr<UpdateRule> MakeAdam(const AdamSettings& settings);

/// RuleEntry::rates: steps are about as long as the rate.
inline std::vector<double> AdamRates() { return {0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001}; }

}  // namespace yoke
