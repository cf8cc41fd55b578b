// Rank: one rank's part in a run. All ranks of a world run it at the same time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/topology.h"
#include "comm/communicator.h"
#include "comm/simulated.h"
#include "comm/simulated/timeline.h"
#include "node/charged_executor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/job.h"
#include "train/record/run_directory.h"
#include "train/recovery/recovery.h"
#include "train/run_request.h"

namespace yoke {

/// State shared by the ranks of one process: the data, and in rank 0's process also the run.
struct RunContext {
  std::string folder = {};  ///< Absolute path of the run, on every rank.
  std::optional<RunDirectory> run = {};
  std::optional<Checkpoint> checkpoint = {};
  std::vector<std::string> messages = {};
  DataSets data = {};
  std::vector<double> class_weights = {};  ///< ClassWeightsOf
  int64_t before_model = 0;                ///< Bytes of memory before the replica was made.
  SharedExecutor shared = {};              ///< In virtual time.
  Timeline* timeline = nullptr;            ///< In virtual time: told of each step.
  bool took_over = false;                  ///< It continues the progress of trials, not a run.
  bool began = false;                      ///< Training has begun, so the run is not abandoned.
  /// Number of worlds this process has been in, each smaller than the one before.
  int64_t worlds = 0;
  /// A checkpoint that was due when a rank was lost.
  struct PendingCheckpoint {
    std::string reason = {};  ///< Why the run ends with it, or "".
    Metrics test = {};
    bool best = false;
  };
  std::optional<PendingCheckpoint> pending = {};
  int lost_nodes = 0;  ///< Of a simulated cluster, so far.
  double pauses = 0;   ///< As SessionClock::Pauses after the last checkpoint.
  /// The run went back to its newest checkpoint, or the beginning, after such a loss.
  bool went_back = false;
};

/// Trains to the end. Only rank 0 calls the request's observers and writes the run; the others
/// return only the exit status, and the reason if it is replan or diverged. `inside` is the rank's
/// place among the ranks of this process. If another rank is lost and this one can continue, it
/// throws RankLost and sets `survivor`; call it again with that in the smaller world.
EndEvent TrainRank(const Job& job, const RunRequest& request, RunContext& context,
                   const Communicator& world, const LocalRank& inside,
                   std::optional<SurvivorState>& survivor);

}  // namespace yoke
