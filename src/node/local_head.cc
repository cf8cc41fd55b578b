// LocalHead: plans of the graph's head by batch size.
#include "node/local_head.h"

#include <algorithm>

#include "node/plans.h"

namespace yoke {
namespace {

class LocalHead : public Head {
 public:
  LocalHead(const ExecutorContext& context, const ParamView& params)
      : context_(context), params_(params) {}

  double Step(const Batch& batch, float* gradient) override {
    GraphPlan& plan = plans_.For(batch.size);
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
