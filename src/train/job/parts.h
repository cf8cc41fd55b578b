// Parts: the strategy, the rule with its rates, the loss and the types that a job names, and its
// replicas' roles and batch.
#pragma once

#include <memory>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "optim/rule.h"
#include "optim/schedules.h"
#include "params/layout.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/job/job.h"

namespace yoke {

/// The part of the data's description that a model needs.
ModelTask TaskOf(const DataInfo& data);
/// [cluster] strategy.
const StrategyEntry& StrategyOf(const Job& job);
/// Of the job's replicas. Throws UserError if they do not fit the strategy.
Roles RolesOf(const Job& job);
/// Examples of one replica's step: train.batch, or its part of it (StrategyEntry::divides_batch).
/// Throws UserError if it does not divide.
int64_t BatchOf(const Job& job);
/// [train] rule, or momentum in its place if it is stateless and the strategy forces momentum.
std::unique_ptr<UpdateRule> RuleOf(const Job& job);
/// [node] precision.
DType ArithmeticOf(const Job& job);
/// Throws UserError if that is bf16 on a CPU that multiplies it more slowly than f32.
void RequirePrecision(const Job& job, const Devices& devices);
/// [train] weights: how row-sparse matrices and the rule's state of them are stored.
DType RowTypeOf(const Job& job);

/// The learning rate as training proceeds.
class LearningRate {
 public:
  explicit LearningRate(const Job& job)
      : base_(job.train.Float("learning_rate")),
        epochs_(static_cast<double>(job.train.Int("epochs"))),
        schedule_(MakeSchedule(job.train.Has("schedule") ? job.train.Raw("schedule") : Value())) {}

  /// After so many epochs, fractional.
  double After(double epochs, int64_t plateaus = 0) const {
    return base_ * schedule_->Factor({.epoch = epochs, .epochs = epochs_, .plateaus = plateaus});
  }

 private:
  double base_;
  double epochs_;  // in all
  std::unique_ptr<Schedule> schedule_;
};

/// By slice, of [train] freeze, no_decay and groups; empty if the job has none of these. Throws
/// UserError for a pattern that matches no parameter, and if nothing is left to train or to decay.
std::vector<SliceSettings> SliceSettingsOf(const Job& job, const ParamLayout& layout);

/// [train] class_weights by class: as given, or balanced: examples / (classes * examples of the
/// class), as in scikit-learn. Reads all labels for that. Empty without the key. Throws UserError
/// if they are not those of the data's classes.
std::vector<double> ClassWeightsOf(const Job& job, const Reader& train);

/// The layers with these weights and [train] label_smoothing in their losses, to the last of which
/// the task's is added where it is missing. Throws UserError if the losses take none.
List WithLossSettings(List layers, const Job& job, const std::vector<double>& class_weights,
                      const ModelTask& task);

}  // namespace yoke
