// KeepPlace: what a rank takes along from a world that has lost another.
#pragma once

#include <optional>

#include "comm/communicator.h"
#include "train/recovery/recovery.h"

namespace yoke {

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

}  // namespace yoke
