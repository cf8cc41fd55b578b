// Trial: a short training of a job, from where another run ended; alone or in rounds.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "plan/peers.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

struct TrialRequest {
  const DataSets& data;
  const RunRequest& run;                 ///< Stop signal and cluster.
  const LauncherPeers* peers = nullptr;  ///< Null: replicas are threads.
  bool apart = false;       ///< As in RunRequest; on a simulated cluster no node dies meanwhile.
  std::string from = {};    ///< The run to continue; "": from the beginning.
  std::string folder = {};  ///< The trial's own run: new, or `from`.
  double seconds = 0;       ///< Of training.
  /// Not 0: so many steps instead, so that losses do not depend on time, and not longer than
  /// `seconds` if that is not 0. The rate falls in the second half, because a high rate shows what
  /// it has learned only after it has fallen.
  int64_t steps = 0;
  bool each_step = false;  ///< The curve has a point for each step, also in real time.
  int rank = 0;            ///< Of a simulated cluster: where a job of one replica trains.
};

inline constexpr double kShortestTrial = 0.3;  ///< Seconds: some events of the Trainer.

/// Trials of several settings: what they have in common.
struct Trials {
  const DataSets& data;
  const RunRequest& run;
  const LauncherPeers* peers = nullptr;
  std::string from = {};             ///< As in TrialRequest.
  std::string folder = {};           ///< For their runs: may be missing.
  double seconds = 0;                ///< Of all together, at least one of each.
  double shortest = kShortestTrial;  ///< Seconds: no trial is shorter.
  int64_t steps = 0;  ///< Not 0: so many steps instead, in at most `seconds` if not 0.
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< Progress.
};

/// The training loss over time.
struct LossPoint {
  double seconds = 0;   ///< Of training, since the trial's start.
  double examples = 0;  ///< In the trial so far.
  double loss = 0;      ///< Mean since the point before.
};

struct Trial {
  LossPoint warm_up;               ///< Its first steps, which are not in the curve; {}: they are.
  std::vector<LossPoint> curve;    ///< From there on.
  double seconds_per_example = 0;  ///< 0: it has taken too few steps to tell.
  double loss = 0;                 ///< Mean of the last third of its examples.
  double seconds = 0;              ///< That it took, virtual on a cluster.
  bool ended = false;              ///< The job has come to its end.
  std::string failure;             ///< Why it failed, or "".
  std::exception_ptr refused;      ///< Where it failed because of something else than its loss.
};

/// Steps of an epoch: of all teams together where replicas do not run in step.
double StepsPerEpoch(const Job& job, const DataSets& data);

/// Of an update of the job: train.batch on each replica that trains.
double ExamplesPerUpdate(const Job& job);

/// Trains without evaluation, and leaves a checkpoint in `folder` with which the job can continue.
Trial RunTrial(const Job& job, const TrialRequest& request);

/// Seconds after which the loss, over the last third of the examples up to then, was first at most
/// this; infinite if it never was.
double TimeTo(const Trial& trial, double loss);
/// The same in examples, of a curve.
double ExamplesTo(const std::vector<LossPoint>& curve, double loss);
/// The mean loss over the last third of a curve's examples.
double LastLoss(const std::vector<LossPoint>& curve);

/// One that takes part in rounds of trials, after each of which the better half goes on.
struct Entrant {
  Job job;
  std::string name;
  bool stays = false;  ///< In all rounds.

  std::string run = {};   ///< Of its trials so far.
  double first_loss = 0;  ///< Before it had learned: the first that it told.
  Trial last = {};
  std::vector<LossPoint> curve = {};  ///< Of all its trials, with their warm-up.
  double trained = 0;                 ///< Seconds in all.
  std::string dropped = {};
};

/// Runs the rounds. At the end at most one entrant has not been dropped, besides those that stay.
/// Those that fail are dropped, even if they were to stay.
void Halve(const Trials& trials, std::vector<Entrant>& entrants);

}  // namespace yoke
