// SimulatedRun: a job on a simulated cluster whose nodes fail.
#pragma once

#include <optional>
#include <vector>

#include "comm/simulated.h"
#include "train/events.h"
#include "train/rank.h"

namespace yoke {

/// What the ranks of all worlds of a simulation run, one at a time.
class SimulatedBody {
 public:
  virtual ~SimulatedBody() = default;
  /// A rank's part in a world. Throws RankLost and RankDied, after which it is called in the next
  /// world, and UserError if the nodes fail faster than the run can go on.
  virtual void Enter(const Communicator& world, const SimulatedPlace& place) = 0;
  /// The leader's.
  const EndEvent& end() const { return end_; }

 protected:
  /// The run goes back to this step. Throws UserError if it has gone back to it too often.
  void ReturnTo(int64_t step);

  EndEvent end_;

 private:
  int64_t from_ = -1;  // the step that the run has gone back to, so many times:
  int times_ = 0;
};

/// With gradients. The ranks share the data, and the run's folder, which stays open when the leader
/// is lost.
class SimulatedRun : public SimulatedBody {
 public:
  /// `context` has the run and the data. All must outlive it.
  SimulatedRun(const Job& job, const RunRequest& request, RunContext& context);
  void Enter(const Communicator& world, const SimulatedPlace& place) override;

 private:
  void Begin(const Communicator& world, const SimulatedPlace& place);
  void GoBack(const Communicator& world, const SimulatedPlace& place);
  void ReadCheckpoint(const Communicator& world) const;

  Job job_;  // of the current world
  const RunRequest& request_;
  RunContext& context_;
  int world_ = 0;                                        // its number
  std::vector<std::optional<SurvivorState>> survivors_;  // by rank in the first world
};

}  // namespace yoke
