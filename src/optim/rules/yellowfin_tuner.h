// YellowFinTuner: finds rate and momentum from the gradients of a run.
// Zhang, Mitliagkas, "YellowFin and the Art of Momentum Tuning" (2017, arXiv 1706.03471).
#pragma once

#include <array>
#include <span>

#include "optim/rule.h"

namespace yoke {

struct YellowFinSettings {
  double beta = 0.999;     ///< Decay of all averages.
  double feedback = 0.01;  ///< Part of a momentum's error that one update corrects; 0: none.
};

/// What the tuner keeps from update to update; all 0 at first.
struct YellowFinMemory {
  static constexpr int kWindow = 20;
  float elements = 0;    ///< Of the updates that the averages are of; others start them anew.
  float updates = 0;     ///< In the averages.
  float log_high = 0;    ///< Averages, before the correction of their bias: log of the largest ...
  float log_low = 0;     ///< ... and of the smallest |g|^2 in the window,
  float square = 0;      ///< |g|^2,
  float norm = 0;        ///< |g|,
  float distance = 0;    ///< distance to the optimum.
  float correction = 0;  ///< What feedback adds to the target momentum.
  float early_rate = 0;  ///< The highest one of the slow start, as if there were none.
  float rate = 0;        ///< Of the last update, slow start included.
  float target = 0;      ///< The momentum that the last update should have had in all.
  float momentum = 0;    ///< The explicit one that it had.
  std::array<float, kWindow> logs = {};  ///< log |g|^2 of the last updates, in a ring.
};
inline constexpr int kYellowFinScalars = sizeof(YellowFinMemory) / sizeof(float);

/// The scalars of a RuleState, and back.
YellowFinMemory ReadYellowFin(std::span<const float> scalars);
void Write(const YellowFinMemory& memory, std::span<float> scalars);

/// Takes an update in and fills in `memory.rate`, `target` and `momentum` for it. Returns the
/// factor, at most 1, that clips its gradient. `earlier`: updates in the first state array, which
/// is the mean gradient, its bias not corrected.
///
/// With h = |g|^2, h_max and h_min the largest and smallest of the last 20, averaged over updates
/// as logarithms, C the gradient's variance, D = E|g| / E h averaged, k = h_max / h_min:
///   x = argmin of x^2 D^2 + (1 - x)^4 C / h_min^2, the root of p x = (1 - x)^3, p = D^2 h_min^2 /
///   2C; target = max(x^2, ((sqrt k - 1) / (sqrt k + 1))^2);  rate = (1 - sqrt target)^2 / h_min.
/// Over the first 200 updates the rate rises linearly. A gradient longer than sqrt h_max is
/// clipped, and an h enters the window as 100 h_max at most. Feedback (the paper's section 4):
///   correction += feedback * (target - total momentum);  momentum = target + correction.
/// Ours, because gradients may grow or vanish faster than the averages follow: where the smallest h
/// of the window exceeds h_min, it divides the rate; the rate stays below 100 times that of the
/// slow start; gradients of zero leave all as it is.
double Advance(const YellowFinSettings& settings, const UpdateFacts& facts, int64_t earlier,
               YellowFinMemory& memory);

/// The x above: the only root in [0, 1] of p x = (1 - x)^3, for p > 0.
double YellowFinRoot(double p);

}  // namespace yoke
