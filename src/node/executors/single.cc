// Single: one device computes the whole batch; on a CPU all threads of the caller's team work on
// each layer together.
#include <algorithm>
#include <utility>

#include "model/low_copy.h"
#include "node/executor.h"

namespace yoke::executor {
namespace {

/// Plans kept besides the one of the job's batch size (an epoch's last batch is smaller).
constexpr size_t kOtherPlans = 3;

class Single : public Executor {
 public:
  explicit Single(const ExecutorContext& context) : context_(context) {}

  StepResult Step(const Batch& batch, const ParamView& params,
                  const GradientReady& ready) override {
    if (batch.size == 0) return Nothing(params, ready);
    last_ = &PlanFor(batch.size);
    const ParamView view = context_.arithmetic == DType::kBf16 ? low_.Refresh(params) : params;
    last_->Forward(batch, view);
    last_->Backward(batch, view, ready);
    return {.loss = last_->Loss(), .examples = batch.size};
  }

  std::string FirstNonFinite() const override { return last_ ? last_->FirstNonFinite() : ""; }

 private:
  struct Sized {
    int64_t batch = 0;
    std::unique_ptr<GraphPlan> plan;
  };

  GraphPlan& PlanFor(int64_t batch) {
    for (Sized& sized : plans_)
      if (sized.batch == batch) return *sized.plan;
    if (plans_.size() > kOtherPlans)
      plans_.erase(std::find_if(plans_.begin(), plans_.end(),
                                [&](const Sized& s) { return s.batch != context_.batch; }));
    plans_.push_back({batch, context_.graph.Compile({.batch = batch,
                                                     .training = true,
                                                     .arithmetic = context_.arithmetic,
                                                     .reference = context_.reference_kernels})});
    return *plans_.back().plan;
  }

  /// A rank that got no example of an epoch's last step: its gradient is zero.
  StepResult Nothing(const ParamView& params, const GradientReady& ready) {
    Gradients& gradients = *params.gradients;
    std::fill_n(gradients.dense(), params.layout->dense_size(), 0.0F);
    const int slices = static_cast<int>(params.layout->slices().size());
    for (int slice = slices; slice-- > 0;) {
      gradients.rows(slice).Clear();
      if (ready && params.layout->slices()[slice].kind != SliceKind::kBuffer) ready(slice);
    }
    return {};
  }

  ExecutorContext context_;
  std::vector<Sized> plans_;
  GraphPlan* last_ = nullptr;
  LowCopy low_;
};

}  // namespace

ExecutorEntry single() {
  return {.name = "single",
          .summary = "One device computes the whole batch",
          .options = {{.name = "devices",
                       .type = OptionType::kString,
                       .fallback = "all",
                       .help = "Which devices compute; this version knows the CPU.",
                       .choices = {"all", "cpu"}}},
          .make = [](const Options&, const ExecutorContext& context) -> std::unique_ptr<Executor> {
            return std::make_unique<Single>(context);
          }};
}

}  // namespace yoke::executor
