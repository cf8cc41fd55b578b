// TimedWorld: the ranks of one world of a simulation of times, and the steps that they take
// together.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/dealer.h"
#include "simulate/timed_model.h"

namespace yoke {

/// Progress of a run, which outlives a world.
struct TimedProgress {
  int64_t steps = 0;  ///< Of all teams together.
  double examples = 0;
};

struct TimedWorld {
  /// So many ranks, which go on from `at`. `examples`: of an epoch.
  TimedWorld(const Job& job, const Reader& examples, int ranks, const TimedProgress& at);

  /// Replicas of their own count each rank's steps, without those that `lost` ranks had not
  /// exchanged.
  TimedProgress Done(const std::vector<int>& lost = {}) const;
  /// Examples done when this step of the run begins.
  double ExamplesBefore(int64_t step) const {
    return begun.examples + static_cast<double>(step - begun.steps) * step_examples;
  }

  const Job job;
  const Roles roles;
  const TimedModel model;
  const TimedProgress begun;
  Dealer dealer;
  std::vector<ExchangeCounts> counts;  ///< By rank, at the end.
  double step_examples = 0;            ///< Of a team's step.
  int64_t epoch_steps = 1;             ///< Of all teams.
  int64_t steps_per_epoch = 1;         ///< Of one replica, if all are in step.
  // The round that the ranks are in, or have met after:
  int64_t opened = 0, decided = 0;
  bool saves = false, ends = false;
  double own_bytes = 0;  ///< Of each rank's own part of a checkpoint.
};

}  // namespace yoke
