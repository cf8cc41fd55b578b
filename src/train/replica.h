// Replica: one copy of the model at work: parameters, rule, executor and strategy, as the job names
// them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "data/reader.h"
#include "model/graph.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/machine.h"
#include "train/metrics.h"

namespace yoke {

/// What a model must know of its data.
ModelTask TaskOf(const DataInfo& data);
/// [node] precision.
DType ArithmeticOf(const Job& job);

class Replica {
 public:
  /// Builds the model and draws its first weights. Throws UserError where the job does not fit the
  /// data.
  Replica(const Job& job, const DataInfo& data);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const ParamLayout& layout() const { return graph_.layout(); }
  const RuleState& state() const { return state_; }
  /// What layers keep from step to step, for a checkpoint.
  std::vector<StateTensor> LayerTensors() const { return graph_.StateTensors(states_); }

  /// What it holds, counted from its tensors.
  MemoryUse Memory() const;

  /// One step on a batch: gradient, exchange, update. `step.examples` is filled in here. When the
  /// loss that it returns is not finite, nothing was updated.
  StepResult Step(const Batch& batch, StrategyStep step);
  /// The layer or parameter where numbers ceased to be finite, or "".
  std::string FirstNonFinite() const;
  /// The first parameter that is not finite, or "" (then it may be saved).
  std::string BadParameter() const;
  /// Empty when broken off because `stop` (may be null) ceased to be 0.
  Metrics Evaluate(const Reader& reader, const std::atomic<int>* stop) const;

  /// The model's packed values, once messages in flight have landed.
  const float* Model() const;
  /// Adds what must be kept to go on.
  void Describe(CheckpointHead& head) const;
  /// Goes on from a checkpoint: exactly where rule, executor and strategy are those it was written
  /// with; the state of one that is another now starts anew.
  void Restore(const Checkpoint& checkpoint);

 private:
  const Job& job_;
  Graph graph_;
  ParamStore params_;
  LayerStates states_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Executor> executor_;
  GradientReady ready_;
};

}  // namespace yoke
