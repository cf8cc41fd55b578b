// Explosion: whether a loss that is still a number is worth nothing any more.
#pragma once

#include "train/metrics.h"

namespace yoke {

/// How often the loss of the untrained model a loss must be to count as exploded. Healthy runs stay
/// far below: a model that learned nothing is level with the untrained one.
inline constexpr double kExplosion = 100;

/// Steps of a rank that its recent loss is a mean of, later ones weighing more. It is the geometric
/// mean, so that a spike is soon forgotten, however high it was.
inline constexpr int64_t kRecentSteps = 16;
/// Examples of a rank that tell the loss of the untrained model: its first step, unless that has
/// fewer.
inline constexpr int64_t kFirstExamples = 16;

/// `untrained`: the loss of the run's first examples; 0: not known. `recent`: of an epoch's
/// last training steps, 1 at least. `measured`: after the epoch, on data that is not trained on;
/// may be empty. Both must have exploded: early spikes have passed by then, and a measured loss
/// alone may suffer from a few odd examples. Losses of less than 1 count as 1: a run may begin from
/// a model that is trained already.
bool Exploded(double untrained, double recent, const Metrics& measured);

}  // namespace yoke
