// Single: one device computes the whole batch; on a CPU all threads of the caller work on each
// layer together.
#include "model/bf16_copy.h"
#include "node/plans.h"
#include "node/sub_batch.h"

namespace yoke::executor {
namespace {

class Single : public Executor {
 public:
  explicit Single(const ExecutorContext& context) : context_(context) {}

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    if (step.head) return StepOfBody(batch, params, step);
    GraphPlan& plan = plans_.For(batch.size);
    const ParamView view = context_.arithmetic == DType::kBf16 ? low_.Refresh(params) : params;
    plan.Forward(batch, view);
    plan.Backward(batch, view, step.ready);
    return {.loss = plan.Loss(), .examples = batch.size};
  }

  std::string FirstNonFinite() const override {
    const std::string layer = plans_.FirstNonFinite();
    return layer.empty() ? bodies_.FirstNonFinite() : layer;
  }

 private:
  StepResult StepOfBody(const Batch& batch, const ParamView& params, const ExecutorStep& step) {
    GraphPlan& body = bodies_.For(batch.size);
    body.Forward(batch, params);
    TakeLabels(batch, body.Scores(), above_);
    const double loss = step.head->Step(above_, body.CutGradient().As<float>());
    body.Backward(batch, params, step.ready);
    return {.loss = loss, .examples = batch.size};
  }

  ExecutorContext context_;
  Plans plans_{context_, context_.batch};
  Plans bodies_{context_, context_.batch, /*immediate=*/false, GraphPart::kBody};
  Batch above_;  // activations with the batch's labels
  Bf16Copy low_;
};

}  // namespace

ExecutorEntry single() {
  return {.name = "single",
          .summary = "One device computes the whole batch",
          .options = {},
          .make = [](const Options&, const ExecutorContext& context) -> std::unique_ptr<Executor> {
            return std::make_unique<Single>(context);
          }};
}

}  // namespace yoke::executor
