// The training loop: the step of every replica, and the round of steps of every rank. Training
// (train/replica, train/member), simulations of times (simulate/timed_rank, simulate/timed_run) and
// the planner's timer (measure/stepper) fill it in.
#pragma once

#include <functional>
#include <optional>

#include "node/executor.h"
#include "strategy/strategy.h"

namespace yoke {

/// A step of one replica: values, gradient, exchange and update. For an executor that updates in
/// place, Enter and Leave alone: it computes between them (Executor::RunRound).
class ReplicaStep {
 public:
  struct Parts {
    Executor& executor;
    Strategy& strategy;
    LayerStates* states = nullptr;  ///< Null: the executor computes nothing.
    /// Called before Strategy::GradientReady, and may change the slice's gradient.
    std::function<void(int slice)> complete = {};
    /// A step whose loss is known and not possible is not left, because no other replica waits for
    /// its exchange.
    bool skips_impossible = false;
  };
  /// What `parts` refers to must outlive it.
  explicit ReplicaStep(const Parts& parts);
  ReplicaStep(const ReplicaStep&) = delete;
  ReplicaStep& operator=(const ReplicaStep&) = delete;

  /// The values at which the gradient is computed.
  ParamView Enter(const StrategyStep& step);
  /// Whether Leave follows.
  bool Leaves(const StepResult& result) const;
  /// Exchange and update.
  void Leave(const StrategyStep& step);
  /// All of a step on a batch (which may be empty). `computed` is called between gradient and
  /// update.
  StepResult Take(
      const Batch& batch, const StrategyStep& step, const std::function<void()>& computed = [] {});

 private:
  StepResult Compute(const Batch& batch, const ParamView& view);

  Parts parts_;
  ExecutorStep work_;
  std::function<void()> launched_;
};

/// A round of one rank: the steps dealt to it, then a meeting of all.
struct RoundParts {
  std::function<double()> now;  ///< In seconds.
  /// Takes the next step, or those up to an exchange; false: this rank has done all.
  std::function<bool()> step;
  /// This rank has no more steps: completes what it has under way, and lets nobody wait for it.
  std::function<void()> idle;
  /// Meets the others in the round that began at this time, and returns the time at which the last
  /// one had arrived. None: a loss was not possible, and nothing is settled.
  std::function<std::optional<double>(double began)> meet;
  /// Counts the round's steps, completes messages in flight, and collects the model.
  std::function<void()> settle;
};

struct RoundSeconds {
  double steps = 0;   ///< Until all ranks had done their steps.
  double settle = 0;  ///< From then on.
  double all() const { return steps + settle; }
};
/// One round. None: it was not settled.
std::optional<RoundSeconds> RunToMeeting(const RoundParts& round);

}  // namespace yoke
