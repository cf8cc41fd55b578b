// CapturedUpdate: remembers the last update's calls, and leaves out those that were made before.
#include "optim/captured_update.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace yoke {
namespace {

bool SameStep(const UpdateStep& a, const UpdateStep& b) {
  return a.learning_rate == b.learning_rate && a.step == b.step &&
         a.gradient_scale == b.gradient_scale && a.momentum == b.momentum &&
         a.decay_rate == b.decay_rate && a.decay == b.decay;
}

}  // namespace

bool CapturedUpdate::Ready() const {
  return allowed_ && !calls_.empty() && last_.clip_norm == 0 &&
         std::ranges::none_of(calls_, [](const UpdateCall& call) { return call.ids; });
}

void CapturedUpdate::Begin(double learning_rate) {
  Check(Ready() && !begun_ && made_ == 0, "an update ends before the next one begins");
  last_.step.learning_rate = learning_rate;
  ++last_.step.step;
  start_.Forward(last_);
  begun_ = true;
}

void CapturedUpdate::Enqueue() {
  for (const UpdateCall& call : calls_) update_.Forward(call);
}

void CapturedUpdate::Start(const UpdateStart& call) {
  Check(made_ == 0, "an update consists of as many calls as the one before");
  if (std::exchange(begun_, false)) {
    Check(SameStep(call.step, last_.step) && call.clip_norm == 0,
          "the update that was enqueued with a step is the one that follows it");
    made_ = calls_.size();
    return;
  }
  last_ = call;
  calls_.clear();
  start_.Forward(call);
}

void CapturedUpdate::Update(const UpdateCall& call) {
  if (made_ > 0) {
    --made_;
    return;
  }
  calls_.push_back(call);
  update_.Forward(call);
}

class SeenStart : public Kernel<UpdateStart> {
 public:
  SeenStart(std::unique_ptr<Kernel<UpdateStart>> start, Kernel<UpdateCall>& update)
      : start_(std::move(start)), captured_(*start_, update) {}
  void Forward(const UpdateStart& call) override { captured_.Start(call); }
  std::string name() const override { return start_->name(); }
  CapturedUpdate& captured() { return captured_; }

 private:
  std::unique_ptr<Kernel<UpdateStart>> start_;
  CapturedUpdate captured_;
};

class SeenUpdate : public Kernel<UpdateCall> {
 public:
  SeenUpdate(std::unique_ptr<Kernel<UpdateCall>> update, CapturedUpdate& captured)
      : update_(std::move(update)), captured_(captured) {}
  void Forward(const UpdateCall& call) override { captured_.Update(call); }
  std::string name() const override { return update_->name(); }

 private:
  std::unique_ptr<Kernel<UpdateCall>> update_;
  CapturedUpdate& captured_;
};

UpdateKernels Seen(UpdateKernels kernels) {
  auto start = std::make_unique<SeenStart>(std::move(kernels.start), *kernels.update);
  CapturedUpdate& captured = start->captured();
  return {.start = std::move(start),
          .update = std::make_unique<SeenUpdate>(std::move(kernels.update), captured)};
}

CapturedUpdate* CapturedUpdateOf(const RuleState& state) {
  auto* const seen = dynamic_cast<SeenStart*>(state.start());
  return seen ? &seen->captured() : nullptr;
}

}  // namespace yoke
