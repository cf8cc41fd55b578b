// Recovery: the state of a rank after another is lost, and the state from which the survivors agree
// to continue in a smaller world.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/job.h"

namespace yoke {

struct SurvivorState {
  int rank = 0;        ///< Rank in the world that lost a rank,
  int world = 1;       ///< and that world's size.
  int64_t worlds = 0;  ///< Number of worlds this process had been in when it trained; 0: it has not
                       ///< trained and has no state.
  Position position = {};  ///< Progress at the last meeting.
  /// Consumed in this epoch: up to the last meeting, and in this rank's steps since.
  Ranges consumed = {};
  double loss_sum = 0;  ///< Loss of this rank's steps since the last meeting: sum over examples,
  int64_t loss_examples = 0;  ///< and number of examples.
  int64_t step_examples = 1;  ///< Examples in a whole step of a team.
  bool model = true;          ///< True: the values are the model; false: one replica of several.
  int64_t version = 0;        ///< Version of the model; the newest one is used.
  double seconds_since = 0;   ///< Training time in this session, for its time limit.
  double left_at = -1;        ///< The world's time up to which `seconds_since` counts; -1: unknown.
  /// The portable part of the replica: the packed values (f32) and the rest of its state.
  std::vector<std::vector<std::byte>> parts = {};
  Value executor = {};  ///< The executor's state.
};

/// The state from which the survivors continue.
struct RecoveryPlan {
  int source = -1;  ///< The rank whose portable part all ranks use; -1 if no rank has trained.
  /// There is no model, so the values are the mean over the ranks that have values.
  bool mean = false;
  Position position = {};
  std::vector<int> lost = {};  ///< Lost ranks of the previous world.
  int world = 1;               ///< Size of the previous world.

  bool trained() const { return source >= 0; }
};

/// All ranks call it with their state (or null). Returns nothing if no rank has lost another. It
/// selects the newest model of the ranks that trained in the newest world, and the examples that
/// any survivor has consumed. The steps of a lost rank since the last meeting are dealt again,
/// because it is unknown which of them are in the model.
std::optional<RecoveryPlan> PlanRecovery(const Communicator& world, const SurvivorState* mine);

/// Runs work() in a world. If it ends with the loss of a rank, stores this rank's place in that
/// world, even without other state. The time between two worlds counts as training.
template <typename Work>
void KeepPlace(const Communicator& world, std::optional<SurvivorState>& survivor,
               const Work& work) {
  if (survivor) {
    const double between = world.Now() - survivor->left_at;
    survivor->position.seconds += between;
    survivor->seconds_since += between;
    survivor->left_at += between;
  }
  try {
    work();
  } catch (const RankLost&) {
    if (!survivor) survivor.emplace();
    survivor->rank = world.rank();
    survivor->world = world.size();
    if (survivor->left_at < 0) survivor->left_at = world.Now();  // its state is of this world
    throw;
  }
}

/// The job as the survivors continue it, in a smaller world. Options of the strategy that do not
/// fit are reset to their defaults, of which `messages` tells. Throws UserError if the strategy
/// does not fit in any case.
Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages);

}  // namespace yoke
