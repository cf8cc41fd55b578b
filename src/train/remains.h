// Remains: what a rank has in hand when another is lost, and what those that are left agree to go
// on from in a smaller world.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "train/checkpoint.h"

namespace yoke {

struct Remains {
  int rank = 0;               ///< In the world that lost one,
  int world = 1;              ///< and how many that had.
  int64_t worlds = 0;         ///< That this process had been in when it trained; 0: it has not, and
                              ///< has nothing.
  Position position = {};     ///< When all met last.
  Ranges consumed = {};       ///< Since the epoch began: then, and in this rank's steps since.
  double loss_sum = 0;        ///< Of this rank's steps since all met: sum over examples,
  int64_t loss_examples = 0;  ///< and how many.
  int64_t step_examples = 1;  ///< Examples of a whole step of a team.
  bool model = true;          ///< The values are the model; else one replica of several.
  int64_t version = 0;        ///< Of the model: the newest is the one to go on with.
  double seconds_since = 0;   ///< Of training, since the session began: for its time limit.
  /// The portable part of the replica: the packed values (float32) and what else belongs to it.
  std::vector<std::vector<std::byte>> parts = {};
  Value executor = {};  ///< Its state.
};

/// What those left go on from.
struct Heritage {
  int source = 0;     ///< The rank whose portable part counts for all.
  bool mean = false;  ///< There is no model: the values are the mean over those who have any.
  Position position = {};
  std::vector<int> lost = {};  ///< Ranks of the world before.
  int world = 1;               ///< Its size.
};

/// All ranks call it, with what they have (or null); nothing when nobody has anything. The newest
/// model of those who trained in the newest world counts, and what any of those left has consumed
/// of the epoch. What a lost rank did since all met last is dealt again: nobody can tell which of
/// it is in the model.
std::optional<Heritage> Inherit(const Communicator& world, const Remains* mine);

}  // namespace yoke
