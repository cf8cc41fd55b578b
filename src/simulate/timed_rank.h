// TimedRank: one rank of a simulation of times: the job's strategy on a shrunken model.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "simulate/timed_model.h"
#include "strategy/strategy.h"
#include "train/training_loop.h"

namespace yoke {

class TimedRank {
 public:
  /// All must outlive it. `steps_per_epoch`: of one replica, if all were in step.
  TimedRank(const Job& job, const TimedModel& model, const Communicator& world,
            int64_t steps_per_epoch);

  /// Before the first step: copies values and state from rank 0, as Replica does; first, if `mean`,
  /// the ranks take the mean of their values.
  void Begin(bool mean);
  void Step(const StrategyStep& step) { step_->Take(model_.batch, step); }
  /// Whether it has sent a message since this was last asked.
  bool HasExchanged();
  /// After the last step before a meeting, at it, and after it.
  void Idle() { strategy_->Idle(); }
  void Settle();
  /// Bytes of this rank's own part of a checkpoint (Replica::OwnTensors); 0: it has none. Rank 0's
  /// answer counts.
  double OwnBytes();
  /// Then all send theirs to rank 0. With many ranks, or a slow disk, these take longer than
  /// the timeout, which does not apply to them.
  void SendOwn();
  /// Rank 0 comes last, after it has written the checkpoint.
  void AwaitLeader();
  void Finish() { strategy_->Finish(); }

  ExchangeCounts Counts() const { return strategy_->Counts(); }
  /// After a rank is lost: ends the strategy's threads. Whether this rank has the model.
  bool Recover();

 private:
  int64_t OwnValues();

  const TimedModel& model_;
  const StrategyEntry& entry_;
  Communicator meetings_;  // for values that are not the strategy's to send
  ParamStore params_;
  Gradients gradients_;
  RuleState state_;
  ChargedExecutor executor_;
  std::unique_ptr<Strategy> strategy_;
  std::optional<ReplicaStep> step_;
  int64_t messages_ = 0;  // sent
};

}  // namespace yoke
