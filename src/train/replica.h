// Replica: one training copy of the model: parameters, rule, executor and strategy of a job.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "model/output_search.h"
#include "node/charged_executor.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation.h"
#include "train/job/devices.h"
#include "train/job/parts.h"
#include "train/record/machine.h"
#include "train/recovery/recovery.h"
#include "train/running_mean.h"
#include "train/training_loop.h"

namespace yoke {

/// A replica's place among the others.
struct ReplicaPlace {
  Communicator world;    ///< All replicas.
  LocalRank local = {};  ///< Among the workers of its machine, which share the devices.
  ThreadPlan threads = {};
  int64_t step_examples = 0;  ///< Of most steps; 0: train.batch.
  int64_t steps_per_epoch = 0;
  std::vector<double> class_weights = {};  ///< ClassWeightsOf
  SharedExecutor* shared = nullptr;        ///< Used in virtual time only.
};

class Replica {
 public:
  /// Builds the model and draws its initial weights. Throws UserError if the job does not fit the
  /// data.
  Replica(const Job& job, const DataInfo& data, const ReplicaPlace& setting);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const ParamLayout& layout() const { return graph_.layout(); }
  const Devices& devices() const { return devices_; }
  std::vector<DeviceWork> Work() const { return executor_->Work(); }
  const RuleState& state() const { return state_; }
  /// The layers' state, for a checkpoint.
  std::vector<StateTensor> LayerTensors() const { return graph_.StateTensors(states_); }
  /// The same with the weights themselves where the model is their average.
  std::vector<StateTensor> SavedTensors(HostCopies& copies) const;

  /// Its memory use, computed from its tensors.
  MemoryUse Memory() const;

  /// Replaces initial weights by those of model.start (CopyStart), on rank 0 before Broadcast.
  /// Returns the sentence.
  std::string TakeStart(const DataInfo& data);
  /// Copies rank 0's initial values, or those of a checkpoint, to all ranks.
  void Broadcast() {
    if (BroadcastFrom(0)) Restored();
  }
  /// The same after a loss: all ranks continue from the state of the previous world in `mine` (or
  /// null).
  void TakeUp(const SurvivorState* mine, const RecoveryPlan& recovery);
  /// Called after a rank is lost: fills in the state that is left here. Nothing is called
  /// afterwards.
  void Rescue(SurvivorState& survivor);
  /// Prepares the first step. Call it after Broadcast, and after OwnTensors are restored if there
  /// are any.
  void Prepare();
  /// Throws UserError if the model cannot train on the batches of steps of so many examples, the
  /// last of `rest` (0: as many).
  void RequireTraining(int64_t step, int64_t rest) const;
  /// One step on a batch (which may be empty): gradient, exchange, update. Fills in
  /// `step.examples`. If the loss is not possible, a single replica is not updated (by an in-place
  /// executor, or where the loss is late: not further). Several are: with this step's gradient, and
  /// where the loss is late also in the two steps until it is known.
  StepResult Step(const Batch& batch, StrategyStep step);
  /// As Executor::LateResult.
  std::optional<StepResult> LateResult(bool wanted);

  // With an executor that updates in place, steps between two exchanges are one round.

  bool in_place() const { return executor_->in_place(); }
  ParamView Enter(const StrategyStep& step) { return step_->Enter(step); }
  StepResult RunRound(WorkSource& source, const ParamView& view);
  /// Whether the round goes on from a step to the next one.
  bool GoesOn(const StrategyStep& step, const StrategyStep& next) const {
    return !strategy_->ExchangesAfter(step) && !strategy_->ExchangesBefore(next);
  }
  bool Leaves(const StepResult& result) const { return step_->Leaves(result); }
  void Leave(const StrategyStep& step) { step_->Leave(step); }

  /// Called by all ranks: completes messages in flight and collects the model on rank 0.
  void Settle();
  /// Since the last call; call it between steps.
  LayerReport TakeLayerReport();
  /// Called by all ranks after Settle: the exchange metrics, on rank 0 (empty elsewhere, and with
  /// one replica), after so many seconds of rounds, of which `step_seconds` in steps.
  Metrics Exchange(double seconds, double step_seconds) const;
  void Finish() { strategy_->Finish(); }
  /// Seconds that this rank's training has waited for messages.
  double SecondsWaiting() const { return strategy_->Counts().seconds_waiting; }
  /// The layer or parameter where values became non-finite, or "".
  std::string FirstNonFinite() const;
  /// The first parameter with a non-finite value, or "" (the model may then be saved).
  std::string BadParameter() const { return BadIn(OnHost(Model())); }
  /// Returns empty metrics if it was stopped because `stop` (may be null) became nonzero.
  /// `sample_of`: as in EvaluateRequest.
  Metrics Evaluate(const Reader& reader, const std::atomic<int>* stop, int64_t sample_of = 0) const;
  /// Of this rank's own values, on any rank.
  Metrics EvaluateOwn(const Reader& reader) const;

  /// The model's packed values on rank 0, as Settle left them.
  std::span<const float> Model() const { return model_; }
  /// Adds the state needed for resuming.
  void Describe(CheckpointHeader& header) const;
  /// Whether each rank has its own state that an exact continuation needs, and its tensors.
  bool KeepsOwn() const;
  std::vector<StateTensor> OwnTensors(HostCopies& copies);
  /// Bytes of the tensors in a checkpoint, those of all ranks included.
  double CheckpointBytes();
  /// Call after writing the replica's tensors.
  void Restored();
  /// This rank has no more steps until the next meeting.
  void Idle() { strategy_->Idle(); }
  /// Restores rank 0 from a checkpoint, before Prepare. Rule, executor and strategy continue
  /// exactly if they are those of the checkpoint; a changed one starts with a new state. Returns
  /// false if the layers' state does, because the checkpoint's has another shape or other
  /// functions.
  bool Restore(const Checkpoint& checkpoint);
  /// Sentences on settings of layers by which training would find too little.
  std::vector<std::string> Advice() const { return AdviceOf(states_); }
  /// Restores the part of a checkpoint's header besides tensors, on any rank.
  void Restore(const CheckpointHeader& header);

 private:
  ExecutorContext WorkOf(const Graph& graph);
  std::unique_ptr<Executor> MakeExecutor(const ExecutorContext& work) const;
  void WorkInVirtualTime(const DataInfo& data, int64_t examples, SharedExecutor& shared);
  std::vector<std::span<std::byte>> Portable(HostCopies& copies);
  bool BroadcastFrom(int from);
  void TakeMean(bool counts);
  void TakeAverage(const Checkpoint& checkpoint);
  int64_t AverageBytes() const { return average_ ? average_->bytes() : 0; }
  StateTensor WeightsTensor(HostCopies& copies) const;
  void RequireSameVelocity(const Checkpoint& checkpoint) const;
  std::vector<std::span<std::byte>> Layers() const;
  void TakeLayers();
  std::string BadIn(Array<const float> values) const;
  Metrics Measure(Array<const float> values, const Reader& reader, const std::atomic<int>* stop,
                  int64_t sample_of) const;

  const Job& job_;
  Devices devices_;  // first: what follows may own memory of theirs
  Communicator world_;
  std::optional<Communicator> node_;  // in virtual time: of the executor's workers
  const StrategyEntry& entry_;
  ThreadPlan threads_;
  int64_t step_examples_;
  List layers_;       // the model's
  List in_training_;  // the same with what [train] makes of the loss
  Graph graph_;
  Device& values_device_;  // of gradients and the rule's state, too
  ParamStore params_;
  std::optional<RunningMean> average_;  // where [train] average asks for it
  LayerStates states_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::optional<HeadOffer> head_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Executor> executor_;
  std::optional<ReplicaStep> step_;
  double step_seconds_ = 0, update_seconds_ = 0;  // since the last report
  Array<const float> model_values_;               // where the strategy holds them
  HostCopy model_copy_;
  std::span<const float> model_;
};

}  // namespace yoke
