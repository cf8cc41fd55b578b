// A strategy and a layer of this program's own, which its jobs name as they name yoke's.
#include <yoke/model/add_layer.h>
#include <yoke/model/layers/convert_input.h>
#include <yoke/model/layers/support.h>
#include <yoke/strategy/add_strategy.h>
#include <yoke/strategy/replicas.h>

#include <cmath>

namespace {

/// Replicas train alone for `period` steps, then take their mean.
class Averaging : public yoke::Strategy {
 public:
  Averaging(const yoke::Options& options, const yoke::StrategyContext& context)
      : context_(context), update_(context), period_(options.Int("period")) {}

  yoke::ParamView View(const yoke::StrategyStep& /*step*/) override {
    return context_.params.View(&context_.gradients);
  }
  void Step(const yoke::StrategyStep& step) override {
    update_.Step(step);
    update_.Count(step.examples);
    if (++steps_ % period_ != 0) return;
    context_.world.AllReduce(context_.params.values());
    yoke::Divide(context_.params.values(), static_cast<float>(context_.world.size()));
    context_.params.Publish();
  }
  yoke::Array<const float> Model() override {
    return yoke::strategy::MeanOfReplicas(context_.world, context_.params, mean_);
  }
  yoke::ExchangeCounts Counts() const override { return update_.counts(); }

 private:
  yoke::StrategyContext context_;
  yoke::Update update_;
  int64_t period_, steps_ = 0;
  yoke::Buffer mean_;
};

/// y = x / (1 + |x|), on the CPU.
class SoftsignPlan : public yoke::LayerPlan {
 public:
  explicit SoftsignPlan(const yoke::PlanRequest& request) {
    output = request.input;
    gradient_in_place = 0;
    reads_input = false;
    kernel = "softsign";
  }
  void Forward(const yoke::LayerCall& call) override {
    const float* x = call.input.As<float>();
    float* y = call.output.As<float>();
    for (int64_t i = 0; i < call.output.Count(); ++i) y[i] = x[i] / (1 + std::abs(x[i]));
  }
  void Backward(const yoke::LayerCall& call) override {
    if (!call.input_gradient.data) return;
    const float *y = call.output.As<float>(), *from = call.output_gradient.As<float>();
    float* to = call.input_gradient.As<float>();
    for (int64_t i = 0; i < call.output.Count(); ++i) {
      const float slope = 1 - std::abs(y[i]);
      to[i] = from[i] * slope * slope;
    }
  }
};

class Softsign : public yoke::Layer {
 public:
  explicit Softsign(const yoke::Shape& shape) : shape_(shape) {}
  yoke::Edge Output() const override { return {.shape = shape_}; }
  yoke::Cost Price(int64_t batch) const override {
    return yoke::layer::Elementwise(batch * shape_.Count(), 4);
  }
  std::string OnlyOnCpu() const override { return "softsign has no kernel for devices"; }
  std::unique_ptr<yoke::LayerPlan> Plan(const yoke::PlanRequest& request) const override {
    return yoke::layer::ConvertInput(request, {}, [](const yoke::PlanRequest& plain) {
      return std::make_unique<SoftsignPlan>(plain);
    });
  }

 private:
  yoke::Shape shape_;
};

}  // namespace

void AddOwnParts() {
  yoke::StrategyEntry averaging = {.name = "averaging",
                                   .summary = "Replicas train alone for a period, then average",
                                   .options = {yoke::PeriodOption("Steps between two means.")},
                                   .deterministic = true,
                                   .replicas_differ = true,
                                   .period = yoke::EveryPeriod};
  averaging.estimate = [](const yoke::Options& options, const yoke::ExchangeSize& size) {
    const yoke::Cost cost = yoke::CostOfAllReduce(size.bytes, size.world);
    const auto period = static_cast<double>(options.Int("period"));
    return yoke::Cost{.messages = cost.messages / period,
                      .message_bytes = cost.message_bytes / period};
  };
  averaging.make = [](const yoke::Options& options,
                      const yoke::StrategyContext& context) -> std::unique_ptr<yoke::Strategy> {
    return std::make_unique<Averaging>(options, context);
  };
  yoke::AddStrategy(averaging);
  yoke::AddLayer({.name = "softsign",
                  .summary = "x / (1 + |x|)",
                  .options = {},
                  .make = [](const yoke::Options& /*options*/, const yoke::LayerContext& context) {
                    yoke::layer::RequireDense(context, "softsign");
                    return std::make_unique<Softsign>(context.input.shape);
                  }});
}
