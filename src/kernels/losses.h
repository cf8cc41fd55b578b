// Losses of numbers (cross entropy has a folder), a batch's mean loss, and weights of examples.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"

namespace yoke {

/// A loss of e = score - target, averaged over an example's targets. Its gradient is that of the
/// batch's mean.
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

/// Whether a loss is possible: all losses here are sums of terms of at least 0, up to rounding.
bool IsPossibleLoss(double loss);

/// A batch's mean loss, left where a host that goes on without it reads it later. One of a model's
/// losses: they are added in the order of their calls.
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

/// Multiplies each row by its weight, for examples that count more or less than others.
struct WeighRowsCall {
  float* values = nullptr;         ///< [rows, width], changed.
  const float* weights = nullptr;  ///< [rows]
  int64_t rows = 0;
  int64_t width = 0;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(values, weights);
  }
};

std::unique_ptr<Kernel<WeighRowsCall>> MakeWeighRows(const Target& target = {});

}  // namespace yoke
