// Plans: the usual batch size and those used last, because an epoch's last batch is smaller.
#include "node/plans.h"

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "kernels/vectors.h"

namespace yoke {
namespace {

/// Of plans that are kept: together they have at most so many times the examples of the largest.
/// Memory grows with examples, and executors that double and halve their batches use many small
/// plans.
constexpr int64_t kOfLargest = 4;
constexpr size_t kMostPlans = 10;

/// Plans are compiled one at a time: all threads share oneDNN's cache, and the thread sanitizer
/// cannot see the locks inside that library.
std::mutex compiling;

class LocalHead : public Head {
 public:
  LocalHead(const ExecutorContext& context, const ParamView& params)
      : context_(context), params_(params) {}

  double Step(const Batch& batch, float* gradient) override {
    GraphPlan& plan = plans_.For(batch);
    plan.Forward(batch, params_);
    plan.Backward(batch, params_, {});
    const Tensor above = plan.CutGradient();
    std::copy_n(above.As<float>(), above.Count(), gradient);
    return plan.Loss();
  }

 private:
  ExecutorContext context_;
  ParamView params_;
  Plans plans_{context_, context_.batch, {.part = GraphPart::kHead}};
};

}  // namespace

Plans::Plans(const ExecutorContext& context, int64_t usual, PlanSettings settings)
    : context_(context), usual_(usual), settings_(settings) {
  settings_.target.reference = context.reference_kernels;
}

GraphPlan& Plans::For(int64_t batch) {
  const auto known = std::ranges::find(plans_, batch, &Sized::batch);
  if (known != plans_.end()) {
    std::rotate(known, known + 1, plans_.end());  // the one used last is the last
    return *(last_ = plans_.back().plan.get());
  }
  MakeRoom(batch);
  const std::lock_guard lock(compiling);
  plans_.push_back({batch, context_.graph.Compile({.batch = batch,
                                                   .training = true,
                                                   .arithmetic = context_.arithmetic,
                                                   .target = settings_.target,
                                                   .immediate = settings_.immediate,
                                                   .part = settings_.part,
                                                   .cut = settings_.cut,
                                                   .layout = settings_.layout})});
  return *(last_ = plans_.back().plan.get());
}

/// Drops the plans that were not used for longest.
void Plans::MakeRoom(int64_t batch) {
  const auto is_full = [&] {
    int64_t largest = batch, all = batch;
    for (const Sized& each : plans_) {
      largest = std::max(largest, each.batch);
      all += each.batch;
    }
    return all > kOfLargest * largest || plans_.size() >= kMostPlans;
  };
  const auto is_other = [this](const Sized& each) { return each.batch != usual_; };
  for (auto oldest = std::ranges::find_if(plans_, is_other); oldest != plans_.end() && is_full();
       oldest = std::ranges::find_if(plans_, is_other))
    plans_.erase(oldest);
}

StepResult StepOfNothing(const ParamView& params, const GradientReady& ready) {
  Gradients& gradients = *params.gradients;
  Fill(gradients.dense(), 0);
  for (size_t slice = 0; slice < params.layout->slices().size(); ++slice)
    gradients.rows(static_cast<int>(slice)).Clear();
  AnnounceAll(*params.layout, ready);
  return {};
}

void AnnounceAll(const ParamLayout& layout, const GradientReady& ready) {
  if (!ready) return;
  for (int slice = static_cast<int>(layout.slices().size()); slice-- > 0;)
    if (layout.slices()[slice].kind != SliceKind::kBuffer) ready(slice);
}

std::optional<HeadOffer> OfferHead(const ExecutorContext& context) {
  const std::optional<GraphCut> cut = context.graph.Cut();
  if (!cut) return {};
  return HeadOffer{.first_slice = cut->first_slice,
                   .width = cut->activations.Count(),
                   .price = [&graph = context.graph](
                                int64_t batch) { return graph.Price(batch, GraphPart::kHead); },
                   .make = [context](const ParamView& params) -> std::unique_ptr<Head> {
                     return std::make_unique<LocalHead>(context, params);
                   }};
}

}  // namespace yoke
