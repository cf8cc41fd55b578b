// TimedRun: the steps of a job on a simulated cluster, times only: worlds, rounds and checkpoints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulate/simulated_run.h"
#include "simulate/timed_rank.h"
#include "simulate/timed_world.h"
#include "train/exchange.h"
#include "train/job/parts.h"
#include "train/run_limits.h"

namespace yoke {

/// What a run has done, and what it took.
struct TimedResult {
  std::string reason;  ///< As EndEvent's.
  int64_t steps = 0;   ///< Of all teams together.
  double epochs = 0;
  double seconds = 0;  ///< Up to the last checkpoint.
  ExchangeSummary exchange = {};
};

/// Every replica has a full batch in every step, even where the data have fewer examples than a
/// step takes. With request.steps, exactly so many steps; otherwise the job's epochs. Nothing is
/// evaluated, and a checkpoint is only the time that it takes. Failures of nodes lose steps and
/// time as they do with gradients.
class TimedRun : public SimulatedBody {
 public:
  /// `context` has the data. All must outlive it. Throws UserError for jobs that TimedModel does
  /// not take.
  TimedRun(const Job& job, const RunRequest& request, RunContext& context);
  void Enter(const Communicator& world, const SimulatedPlace& place) override;
  /// At the end.
  TimedResult Result() const;

 protected:
  /// The leader of each world calls it before its first step, and that of the last one at the end.
  virtual void Begun() {}
  virtual void Ended(const SimulatedPlace& /*place*/) {}

  const TimedWorld& here() const { return *world_; }
  /// Of the data, as those of a run.
  double Epochs() const;

  const Job& job_;
  const RunRequest& request_;
  RunContext& context_;
  std::vector<std::string> messages_;  // for the user, since the world began

 private:
  struct Mean {
    void Add(double seconds) { sum += seconds, ++count; }
    double Value() const { return count > 0 ? sum / count : 0; }
    double sum = 0;
    int count = 0;
  };

  void NextWorld(const Communicator& world, const SimulatedPlace& place);
  bool TakeRound(const Communicator& world, TimedRank& rank);
  bool TakeStep(const Communicator& world, TimedRank& rank);
  void Decide(double now);
  bool CheckpointIsDue(double now) const;
  std::string ReasonToStop(double now) const;
  double EpochsDone() const;
  int64_t StepsTo(double epochs) const;
  int64_t StepsOfJob() const;
  int64_t StepsOfRound() const;
  StrategyStep SettingsOf(int64_t s) const;
  double RateAt(int64_t s) const;
  void Save(const Communicator& world, TimedRank& rank);
  void AccessCheckpoint(const Communicator& world) const;

  const LearningRate rate_;
  const RunLimits limits_;
  std::optional<TimedWorld> world_;
  int number_ = 0;             // of the world
  double epoch_examples_ = 0;  // of an epoch of full batches
  bool meets_ = false;         // at the end of epochs: they have a step for each replica
  double epochs_before_ = 0;   // whole ones, when the round was opened
  bool has_model_ = false;     // a rank of the world that has lost another
  bool mean_ = false;          // the world begins with the mean of the replicas
  TimedProgress saved_;        // in the newest checkpoint,
  double saved_at_ = 0;        // and when that was written
  double stepped_ = 0;         // seconds in steps
  Mean settled_, wrote_;       // seconds of meetings and checkpoints
  std::string reason_;
};

}  // namespace yoke
