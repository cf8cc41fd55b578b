// Member: every rank's part in a run: starts, takes the steps dealt to it, and meets the others.
// Rank 0 also leads (train/leader.h).
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/epoch_cursor.h"
#include "train/rank.h"
#include "train/record/rank_log.h"
#include "train/recovery/peers.h"
#include "train/replica.h"
#include "train/round_source.h"
#include "train/rounds.h"
#include "train/session_clock.h"

namespace yoke {

class Member {
 public:
  Member(const Job& job, const RunRequest& request, RunContext& context, const Communicator& world,
         const LocalRank& inside);
  virtual ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// Builds the model and restores the state of a larger world, or a checkpoint if there is one.
  void Begin(const SurvivorState* survivor);
  /// Follows rank 0's orders and returns the result.
  EndEvent Follow();
  /// After another rank is lost: returns the state of this rank, if it has any.
  std::optional<SurvivorState> Rescue();
  /// Logs the error that ends this rank.
  void Note(const std::exception& problem) {
    if (log_) log_->End(problem);
  }

 protected:
  /// One sentence per rank on where it runs. Empty if the ranks are threads of one process.
  std::vector<std::string> Places() const {
    return peers_ ? peers_->Places() : std::vector<std::string>();
  }

  // Overridden by rank 0.

  /// Restores the parts of a checkpoint that only rank 0 needs.
  virtual void TakeUp(const Checkpoint& /*checkpoint*/) {}
  /// Called after all ranks have taken up a checkpoint, with their OwnLosses.
  virtual void TakenUp(const std::vector<double>& /*losses*/) {}
  /// Called when all ranks are ready for the first step.
  virtual void Begun(const std::optional<RecoveryPlan>& /*recovery*/) {}
  /// Called with the steps done of the plan and in total, and the sums of the epoch so far.
  virtual void Stepped(int64_t /*of_plan*/, int64_t /*done*/, const StepTotals& /*so_far*/) {}
  /// Whether the round is to end early. Called on another thread.
  virtual bool Due() const { return false; }

  bool leads() const { return world_.rank() == 0; }
  /// Takes its part of a round, then meets the others. Returns the step totals of all ranks.
  std::vector<StepTotals> Work(const Order& order);
  /// The sums at the start of a round.
  StepTotals Before() const;
  void Finish();
  /// The loss of this rank's own values on some training examples.
  double OwnLoss() const;
  /// Called by all ranks: OwnLoss of each, by rank.
  std::vector<double> OwnLosses() const;
  /// Some training examples that tell whether weights are ruined.
  std::unique_ptr<Reader> SomeExamples() const;
  /// The signal that reached any rank; 0: none.
  int Signal() const {
    return signal_ == 0 && request_.stop_signal ? request_.stop_signal->load() : signal_;
  }
  bool Interrupted() const { return Signal() != 0; }

  LocalRank AmongWorkers() const;

  const Job& job_;
  const RunRequest& request_;
  RunContext& context_;
  const DataSets& data_;
  Communicator world_;
  /// Among the ranks of this machine; after Begin, a worker's among its workers, and a server's
  /// with their number.
  LocalRank local_;
  ThreadPlan threads_;
  Binding binding_;
  Roles roles_;
  EpochCursor cursor_;
  Position& position_;
  std::optional<Replica> replica_;
  StepTotals totals_ =
      {};             ///< Of this rank since the last meeting; rank 0 also adds to the epoch's.
  Metrics exchange_;  ///< Of all ranks, at the last meeting.
  double rate_ = 0;
  SessionClock clock_;            ///< The world's.
  std::optional<Rounds> rounds_;  ///< Its thread asks rank 0 whether it is Due.

 private:
  void TakeUpCheckpoint();
  void TakeUp(const SurvivorState* survivor, const RecoveryPlan& recovery);
  StrategyStep SettingsOf(int64_t s);
  bool TakeNext(DealtSteps& steps, const Order& order);
  std::vector<StepTotals> Meet(const Order& order, double began);
  void Settle(const std::vector<StepTotals>& all_totals);
  void TakeStep(int64_t s);
  void TakeRound(DealtSteps& steps, int64_t last);
  void NoteLateResults(bool all);
  void NoteResult(const StepResult& result, int64_t s);
  void Told(int64_t dealt, const StepTotals& of_all);

  std::optional<RankLog> log_;  // null on rank 0
  std::optional<Peers> peers_;  // if ranks are processes
  bool begun_ = false;
  int64_t round_first_ = 0;     // the round's first step of the plan
  std::vector<int64_t> taken_;  // steps of the plan done by this rank since the last meeting
  std::vector<int64_t> late_;   // those of them whose losses are not known yet
  int signal_ = 0;              // received by any rank
  double worked_ = 0;           // seconds in rounds, without evaluation and checkpoints
  double stepped_ = 0;          // of these, until all ranks had done their steps
};

}  // namespace yoke
