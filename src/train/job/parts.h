// Parts: the strategy, the rule and the types that a job names, and its replicas' roles and batch.
#pragma once

#include <memory>

#include "data/reader.h"
#include "model/graph.h"
#include "optim/rule.h"
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

}  // namespace yoke
