// Replica: one copy of the model at work: parameters, rule, executor and strategy, as the job names
// them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/machine.h"
#include "train/metrics.h"
#include "train/remains.h"

namespace yoke {

/// What a model must know of its data.
ModelTask TaskOf(const DataInfo& data);
/// [cluster] strategy.
const StrategyEntry& StrategyOf(const Job& job);
/// [node] precision.
DType ArithmeticOf(const Job& job);

/// Where a replica stands among others.
struct ReplicaPlace {
  Communicator world;  ///< All replicas.
  ThreadPlan threads = {};
  int64_t steps_per_epoch = 0;
};

class Replica {
 public:
  /// Builds the model and draws its first weights. Throws UserError where the job does not fit the
  /// data.
  Replica(const Job& job, const DataInfo& data, const ReplicaPlace& setting);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const ParamLayout& layout() const { return graph_.layout(); }
  const RuleState& state() const { return state_; }
  /// What layers keep from step to step, for a checkpoint.
  std::vector<StateTensor> LayerTensors() const { return graph_.StateTensors(states_); }

  /// What it holds, counted from its tensors.
  MemoryUse Memory() const;

  /// Once the first values are there, of a checkpoint or not: rank 0's become everybody's.
  void Share() { Share(0); }
  /// The same after a loss: what `mine` (or null, or nothing) says of the world before becomes what
  /// all have.
  void TakeUp(const Remains* mine, const Heritage& heritage);
  /// A rank is lost: fills in what is left here. Nothing is called afterwards.
  void Rescue(Remains& remains);
  /// After Share, and once OwnTensors were read where there are any: ready for the first step.
  void Prepare() { strategy_->Prepare(); }
  /// One step on a batch (which may be empty): gradient, exchange, update. `step.examples` is
  /// filled in here. When the loss that it returns is not finite, a replica alone was not updated
  /// (in place: no more).
  StepResult Step(const Batch& batch, StrategyStep step);
  /// All ranks: messages in flight land, and the model is brought together on rank 0.
  void Settle();
  /// All ranks, after Settle: what they exchanged, on rank 0 (empty elsewhere, and where there is
  /// one replica).
  Metrics Exchange(double seconds) const;
  void Finish() { strategy_->Finish(); }
  /// That this rank's training has waited for messages.
  double SecondsWaiting() const { return strategy_->Counts().seconds_waiting; }
  /// The layer or parameter where numbers ceased to be finite, or "".
  std::string FirstNonFinite() const;
  /// The first parameter that is not finite, or "" (then it may be saved).
  std::string BadParameter() const { return BadIn(model_); }
  /// Empty when broken off because `stop` (may be null) ceased to be 0.
  Metrics Evaluate(const Reader& reader, const std::atomic<int>* stop) const;

  /// The model's packed values on rank 0, as Settle left them.
  const float* Model() const { return model_; }
  /// Adds what must be kept to go on.
  void Describe(CheckpointHead& head) const;
  /// Whether each rank has something of its own that an exact continuation needs, and what.
  bool KeepsOwn() const;
  std::vector<StateTensor> OwnTensors();
  /// Numbers were copied into its tensors.
  void Restored();
  /// There are no more steps for this rank until all meet.
  void Idle() { strategy_->Idle(); }
  /// Rank 0 goes on from a checkpoint: exactly where rule, executor and strategy are those it was
  /// written with; the state of one that is another now starts anew. Before Prepare.
  void Restore(const Checkpoint& checkpoint);
  /// What a checkpoint's head says besides tensors, on any rank.
  void Restore(const CheckpointHead& head);

 private:
  std::vector<std::span<std::byte>> Portable();
  void Share(int from);
  void TakeMean(bool counts);
  void Empty();
  std::vector<std::span<std::byte>> Layers() const;
  void TakeLayers();
  std::string BadIn(const float* values) const;
  double ConsensusDistance() const;

  const Job& job_;
  Communicator world_;
  const StrategyEntry& entry_;
  ThreadPlan threads_;
  List layers_;  // of the model
  Graph graph_;
  ParamStore params_;
  LayerStates states_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::optional<HeadOffer> head_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Executor> executor_;
  ExecutorStep work_;
  const float* model_ = nullptr;
};

}  // namespace yoke
