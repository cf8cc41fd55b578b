// StepLoss: a batch's mean loss, left where a host that goes on without it reads it later.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"

namespace yoke {

/// Whether a loss is possible: all losses here are sums of terms of at least 0, up to rounding.
bool IsPossibleLoss(double loss);

/// One of a model's losses. They are added in the order of their calls.
struct StepLossCall {
  const float* losses = nullptr;  ///< Of each example.
  int64_t count = 0;
  bool first = true, last = true;
  double* loss = nullptr;  ///< The mean over the batch after the last; of the device or staging.
  double* stop = nullptr;  ///< Then becomes 1 if that is not possible; null: nothing is to stop.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(losses, loss, stop);
  }
};

std::unique_ptr<Kernel<StepLossCall>> MakeStepLoss(const Target& target);

}  // namespace yoke
