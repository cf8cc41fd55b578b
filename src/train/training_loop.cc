// The training loop: the order of things in a step and in a round.
#include "train/training_loop.h"

#include "kernels/losses.h"
#include "node/plans.h"
#include "tensor/counting.h"

namespace yoke {

ReplicaStep::ReplicaStep(const Parts& parts) : parts_(parts) {
  work_.ready = [this](int slice) {
    if (parts_.complete) parts_.complete(slice);
    parts_.strategy.GradientReady(slice);
  };
  work_.head = parts_.strategy.RemoteHead();
  launched_ = [this] { parts_.strategy.Launched(); };
}

ParamView ReplicaStep::Enter(const StrategyStep& step) {
  const CountedAs scope("update");
  ParamView view = parts_.strategy.View(step);
  const Strategy::SliceExchange exchange = parts_.strategy.ExchangeOfSlices();
  work_.beside = exchange == Strategy::SliceExchange::kBeside;
  work_.launched = exchange == Strategy::SliceExchange::kEnqueued ? launched_ : nullptr;
  work_.learning_rate = step.learning_rate;
  view.states = parts_.states;
  return view;
}

StepResult ReplicaStep::Compute(const Batch& batch, const ParamView& view) {
  const CountedAs scope("gradient");
  if (batch.examples.empty()) return StepOfNothing(view, work_.ready);
  return parts_.executor.Step(batch, view, work_);
}

bool ReplicaStep::Leaves(const StepResult& result) const {
  return result.late || IsPossibleLoss(result.loss) || !parts_.skips_impossible;
}

void ReplicaStep::Leave(const StrategyStep& step) {
  const CountedAs scope("update");
  parts_.strategy.Step(step);
}

StepResult ReplicaStep::Take(const Batch& batch, const StrategyStep& step,
                             const std::function<void()>& computed) {
  const StepResult result = Compute(batch, Enter(step));
  computed();
  if (Leaves(result)) Leave(step);
  return result;
}

std::optional<RoundSeconds> RunToMeeting(const RoundParts& round) {
  const double began = round.now();
  while (round.step()) continue;
  round.idle();
  const std::optional<double> met = round.meet(began);
  if (!met) return {};
  round.settle();
  return RoundSeconds{.steps = *met - began, .settle = round.now() - *met};
}

}  // namespace yoke
