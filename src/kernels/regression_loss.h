// Regression losses of scores and target numbers, per example, and the gradient of the batch's
// mean.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"

namespace yoke {

/// A loss of e = score - target, averaged over an example's targets.
enum class RegressionLoss : uint8_t {
  kSquared,   ///< e^2
  kAbsolute,  ///< |e|
  kHuber,     ///< e^2 / 2 up to |e| = delta, beyond it delta (|e| - delta / 2).
  kQuantile,  ///< level (-e) where e < 0, else (1 - level) e: the score tends to that quantile.
};

struct RegressionLossShape {
  RegressionLoss function = RegressionLoss::kSquared;
  double parameter = 0;  ///< Delta or level.
  int64_t batch = 0;
  int64_t outputs = 0;
};

/// A NaN score gives a NaN loss.
struct RegressionLossCall {
  const float* scores = nullptr;   ///< [batch, outputs]
  const float* targets = nullptr;  ///< [batch, outputs]
  float* losses = nullptr;         ///< [batch], written by Forward.
  float* gradient = nullptr;       ///< [batch, outputs], written by Backward: of the mean loss.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(scores, targets, losses, gradient);
  }
};

std::unique_ptr<Kernel<RegressionLossCall>> MakeRegressionLoss(const RegressionLossShape& shape,
                                                               const Target& target = {});

}  // namespace yoke
