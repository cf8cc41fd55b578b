// CapturedUpdate: remembers the last update, and enqueues the next one like it.
#include "optim/captured_update.h"

#include <utility>

#include "base/check.h"
#include "optim/device_update.h"

namespace yoke {
namespace {

bool SameStep(const UpdateStep& a, const UpdateStep& b) {
  return a.learning_rate == b.learning_rate && a.step == b.step &&
         a.gradient_scale == b.gradient_scale && a.momentum == b.momentum &&
         a.decay_rate == b.decay_rate && a.decay == b.decay;
}

bool SameOperands(const ApplyRequest& a, const ApplyRequest& b) {
  return &a.gradients == &b.gradients && a.clip_norm == b.clip_norm &&
         a.slices.begin == b.slices.begin && a.slices.end == b.slices.end;
}

/// Whether the gradient's length is of more than dense gradients as the pass leaves them: of
/// touched rows, whose number is one of the launch, or without frozen slices.
bool IsLongerThanDense(const ParamLayout& layout, const RuleState& state) {
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (layout.slices()[i].kind == SliceKind::kRowSparse || state.Of(i).frozen()) return true;
  return false;
}

}  // namespace

bool CapturedUpdate::Ready() const {
  return allowed_ && last_ &&
         !(ClipsOnDevice(last_->request) &&
           IsLongerThanDense(last_->params.layout(), last_->request.state));
}

void CapturedUpdate::Begin(double learning_rate) {
  Check(Ready() && !std::exchange(begun_, true), "an update ends before the next one begins");
  last_->step.learning_rate = learning_rate;
  ++last_->step.step;
  const RuleState& state = last_->request.state;
  state.start()->Forward({.scalars = state.on_device(), .step = last_->step});
}

void CapturedUpdate::Enqueue() const {
  const ApplyRequest& request = last_->request;
  if (ClipsOnDevice(request)) {
    SumSquares(last_->params, request);
    request.state.start()->Forward(
        {.scalars = request.state.on_device(), .clip_norm = request.clip_norm, .starts = false});
  }
  UpdateOnDevice(last_->params, request);
}

bool CapturedUpdate::IsMade(const ParamStore& params, const ApplyRequest& request,
                            const UpdateStep& step) {
  if (std::exchange(begun_, false)) {
    Check(SameStep(step, last_->step) && SameOperands(request, last_->request),
          "the update that was enqueued with a step is the one that follows it");
    return true;
  }
  last_.emplace(Seen{params, request, step});
  return false;
}

}  // namespace yoke
