// Rank: one rank's part in a run. All ranks of a world take it at the same time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/topology.h"
#include "comm/communicator.h"
#include "train/checkpoint.h"
#include "train/remains.h"
#include "train/run_directory.h"
#include "train/trainer.h"

namespace yoke {

/// What the ranks of one process share: the data; in rank 0's process also the run.
struct Ground {
  std::string folder = {};  ///< The run's, absolute, on every rank.
  std::optional<RunDirectory> run = {};
  std::optional<Checkpoint> checkpoint = {};
  std::vector<std::string> messages = {};
  DataSets data = {};
  int64_t before_model = 0;  ///< Bytes of memory before there was a replica.
  bool began = false;        ///< The run holds more than its beginning: it is never abandoned.
  int64_t worlds = 0;        ///< That this process has been in, each smaller than the one before.
  /// A checkpoint that was due when somebody was lost.
  struct Owed {
    std::string reason = {};  ///< Why the run was to end with it; "": it was not.
    Metrics test = {};
    bool best = false;
  };
  std::optional<Owed> owed = {};
};

/// Trains to the end. Only rank 0 asks the request's observers and writes the run; the others
/// return the exit status alone. `inside` is its place among the ranks of this process.
/// Where another rank is lost and this one can go on, it throws RankLost, and `remains` is what it
/// goes on from when it is called again.
EndEvent TrainRank(const Job& job, const RunRequest& request, Ground& ground,
                   const Communicator& world, const LocalRank& inside,
                   std::optional<Remains>& remains);

}  // namespace yoke
