// Rounds: coordinates the ranks between two meetings. Rank 0 deals the steps of an epoch in ranges,
// and stops by dealing no more, so no step needs an agreement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "train/step_totals.h"

namespace yoke {

/// Steps [begin, end) of an epoch's plan. If empty, the ranks meet.
struct StepRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
};

/// An order of rank 0.
struct Order {
  enum Kind : int64_t {
    kTrain,   ///< Steps [first, last) of the plan.
    kSettle,  ///< Complete messages in flight: the model is needed.
    kKeep,    ///< Tell your own loss, and send your own part of a checkpoint to rank 0.
    kEnd,
  };
  Kind kind = kEnd;
  int64_t first = 0;
  int64_t last = 0;
  int64_t plateaus = 0;     ///< Position::plateaus
  int64_t exit_status = 0;  ///< With kEnd, likewise the next.
  int64_t replans = 0;      ///< 1: the run goes on when keys are chosen again.
};

class Rounds {
 public:
  struct Settings {
    int servers = 0;  ///< The first ranks, which get no work (StrategyEntry::servers).
    int team = 1;     ///< Number of other ranks that are dealt work together.
    /// On rank 0: whether the round is to end early; called on a separate thread.
    std::function<bool()> due = [] { return false; };
    /// On a server waiting in Meet: receives the steps dealt so far and the sums of all ranks.
    std::function<void(int64_t dealt, const StepTotals& of_all)> told = [](int64_t,
                                                                           const StepTotals&) {};
  };
  /// Constructed by all ranks, in the same order.
  Rounds(const Communicator& world, Settings settings);
  ~Rounds();

  /// Rank 0 gives an order; the others wait for it without a timeout while rank 0 is alive.
  void Give(const Order& order);
  Order Await();

  /// The next steps of this rank's team; `mine` are the sums so far. All ranks of a team get the
  /// same steps.
  StepRange Next(const StepTotals& mine);
  /// Requests that the round end early.
  void AskToMeet();
  /// Call when Next() is empty: returns the step totals of all ranks, by rank.
  std::vector<StepTotals> Meet(StepTotals mine);
  /// When the last rank had arrived at the last meeting.
  double met_at() const { return met_at_; }

 private:
  class Service;
  void Begin(const Order& order);
  void Ask(int64_t kind, const StepTotals& mine = {});
  void AskForSteps(const StepTotals& mine);
  void AwaitTheOthers();

  Communicator channel_;
  Settings settings_;
  std::shared_ptr<void> service_;  // on rank 0, in a world of several ranks
  Order order_ = {};
  int64_t dealt_ = 0;
  double met_at_ = 0;
  int asked_ = 0;  // requests for steps that are pending
  int ahead_ = 1;  // and how many there should be
  bool wants_end_ = false;
};

}  // namespace yoke
