// Member: what every rank of a run does: begins, takes the steps that it is dealt, meets the
// others. Rank 0 leads besides (train/rank.cc).
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "train/course.h"
#include "train/pace.h"
#include "train/rank.h"
#include "train/rank_log.h"
#include "train/replica.h"
#include "train/rounds.h"

namespace yoke {

class Member {
 public:
  Member(const Job& job, const RunRequest& request, Ground& ground, const Communicator& world,
         const LocalRank& inside);
  virtual ~Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// Builds the model and takes up what is left of a larger world, or a checkpoint where there is
  /// one.
  void Begin(const Remains* remains);
  /// Does what rank 0 says, and returns how it ended.
  EndEvent Follow();
  /// Another rank is lost: what is left here, if there has been anything.
  std::optional<Remains> Rescue();
  /// Notes what ends this rank.
  void Note(const std::exception& problem) {
    if (log_) log_->End(problem);
  }

 protected:
  // What rank 0 adds.

  /// Takes up a checkpoint, as far as the others do not.
  virtual void TakeUp(const Checkpoint& /*checkpoint*/) {}
  /// All are ready for the first step.
  virtual void Begun(const std::optional<Heritage>& /*heritage*/) {}
  /// So many steps are done, of the plan and in all; the sums are of the epoch so far.
  virtual void Stepped(int64_t /*of_plan*/, int64_t /*done*/, const Tally& /*so_far*/) {}
  /// Whether the round is to end early; on another thread.
  virtual bool Due() const { return false; }

  bool leads() const { return world_.rank() == 0; }
  /// Its share of a round, then the meeting. Returns what each rank brought.
  std::vector<Tally> Work(const Order& order);
  /// The sums that a round begins with.
  Tally Before() const;
  void Finish();
  /// The first rank's whose loss ceased to be finite.
  static std::optional<Tally> FirstBad(const std::vector<Tally>& tallies);
  /// That reached any rank; 0: none.
  int Signal() const {
    return signal_ == 0 && request_.stop_signal ? request_.stop_signal->load() : signal_;
  }
  bool Interrupted() const { return Signal() != 0; }

  const Job& job_;
  const RunRequest& request_;
  Ground& ground_;
  const DataSets& data_;
  Communicator world_;
  ThreadPlan threads_;
  Binding binding_;
  Roles roles_;
  Course course_;
  Position& position_;
  std::optional<Replica> replica_;
  Tally tally_ = {};  ///< Of this rank since all met last; rank 0 goes on adding to the epoch's.
  Metrics exchange_;  ///< Of all ranks, when they last met.
  double rate_ = 0;
  Pace pace_;
  std::optional<Rounds> rounds_;  ///< Its thread asks rank 0 whether it is Due.

 private:
  void TakeUpCheckpoint();
  void TakeUp(const Remains* remains, const Heritage& heritage);
  void TakeStep(int64_t s, int64_t done);
  void NoteLoss(double loss, int64_t examples);
  void Told(int64_t dealt, const Tally& of_all);

  std::optional<RankLog> log_;  // of all ranks but 0
  bool begun_ = false;
  std::vector<int64_t> taken_;  // steps of the plan, by this rank since all met last
  int signal_ = 0;              // that reached any rank
  double worked_ = 0;           // seconds of rounds, evaluation and checkpoints apart
};

}  // namespace yoke
