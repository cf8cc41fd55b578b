// Rounds: how ranks agree on what to do until they meet again. Rank 0 deals the steps of an epoch
// in leases; a stop is a lease that does not come, so that no step costs an agreement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

/// Steps [begin, end) of an epoch's plan; none: the ranks meet.
struct Lease {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
};

/// What rank 0 has decided.
struct Order {
  enum Kind : int64_t {
    kTrain,   ///< Steps [first, last) of the plan.
    kSettle,  ///< Messages in flight land: the model is asked for.
    kKeep,    ///< Send rank 0 what a checkpoint keeps of you.
    kEnd,
  };
  Kind kind = kEnd;
  int64_t first = 0;
  int64_t last = 0;
  int64_t exit_status = 0;  ///< With kEnd.
};

/// What each rank brings to a meeting.
struct Tally {
  double loss_sum = 0;  ///< Over so many examples.
  int64_t examples = 0;
  int64_t bad_step = 0;   ///< At which its loss ceased to be finite (1 for the first); 0: it is.
  double bad_loss = 0;    ///< What it was then.
  int64_t signal = 0;     ///< That asked this process to stop.
  double recent_log = 0;  ///< Mean logarithm of the losses (1 at least) of its last steps in this
  int64_t recent = 0;     ///< round, and how many these are (train/explosion.h).
  double first_loss = 0;  ///< Mean of its first steps, where the round begins the run,
  int64_t first_examples = 0;  ///< over so many examples.
  int64_t dealt = 0;           ///< Of rank 0: where the next round begins.
};

class Rounds {
 public:
  struct Settings {
    int servers = 0;  ///< The first ranks, which are dealt nothing (StrategyEntry::servers).
    int team = 1;     ///< Of the others, those that are dealt work together.
    /// Rank 0: whether the round is to end early; called on another thread than the ranks'.
    std::function<bool()> due = [] { return false; };
    /// Of a server, while it waits in Meet: how far the round is dealt, and what all ranks have
    /// summed up.
    std::function<void(int64_t dealt, const Tally& of_all)> told = [](int64_t, const Tally&) {};
  };
  /// All ranks make one, in the same order.
  Rounds(const Communicator& world, Settings settings);
  ~Rounds();

  /// Rank 0 gives it, the others wait for it, as long as it takes while rank 0 lives.
  void Give(const Order& order);
  Order Await();

  /// The next steps of this rank's team; `mine`: so far. Several ranks of a team are dealt the same
  /// ones.
  Lease Next(const Tally& mine);
  /// This rank asks that the round end early.
  void AskToMeet();
  /// Once Next() is empty: what each rank brings, by rank.
  std::vector<Tally> Meet(Tally mine);

 private:
  class Service;
  void Begin(const Order& order);
  void Ask(int64_t wish, const Tally& mine = {});
  void AwaitTheOthers();

  Communicator channel_;
  Settings settings_;
  std::shared_ptr<void> service_;  // of rank 0, in a world of several
  Order order_ = {};
  int64_t dealt_ = 0;
  bool asked_ = false;  // a question is under way
  bool wants_end_ = false;
};

}  // namespace yoke
