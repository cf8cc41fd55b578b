// Notes: what a run tells its user in sentences, and names what it trains on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/simulated/timeline.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/events.h"
#include "train/job/job.h"
#include "train/recovery/recovery.h"
#include "train/run_request.h"

namespace yoke {

/// For the start of a run, if its rate is high for the staleness that its strategy causes, with
/// figures; "" if the strategy has no server, only one worker or team pushes, or the rate is low
/// enough. `strategy`: the job's.
std::string StalenessNote(const Job& job, const StrategyEntry& strategy, int world);

/// What an impossible loss became.
std::string LossNote(double loss);

struct Divergence {
  std::string what;  ///< LossNote, or another clause.
  int64_t step = 0;
  int64_t epoch = 0;  ///< The current one, or the one that has just ended.
  std::string where;  ///< A layer or parameter; "": unknown.
  double learning_rate = 0;
};
std::string DivergenceNote(const Divergence& divergence);

/// On a checkpoint from which no run should go on: the loss of its weights, or of one replica's, is
/// far above that before training.
std::string RuinNote(const std::string& folder, const std::vector<double>& losses, size_t ruined,
                     double untrained);

/// So many ranks continue after a loss of others.
std::string LossOfRanksNote(const RecoveryPlan& recovery, int ranks, int64_t step);

/// For the end of a simulated run, if a rank has waited longer than cluster.timeout, which would
/// end a run on real nodes; or "". `timeline`: null if nothing is simulated.
std::string LongWaitNote(const Timeline* timeline, const Job& job);

/// What to do after a run that has not diverged: where the weights are, how to continue, whether
/// the model has collapsed. `simulated`: on a simulated cluster.
std::string EndSentence(const EndEvent& end, bool simulated);

/// "8 simulated nodes: A rack" or "4 simulated nodes (8 ranks)".
std::string HardwareOf(const SimulatedCluster& cluster, int ranks);
/// Of a run: the same, or "cpu + emulated:0 (2 ranks that share them, 4 threads each; idle:
/// emulated:1)", of the devices of rank 0's machine and its threads.
std::string HardwareOf(const Job& job, const RunRequest& request, const DeviceShares& devices,
                       int ranks, int threads);

}  // namespace yoke
