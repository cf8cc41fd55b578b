// None: one replica alone; each step applies the rule to its own gradient. Cost: no message.
#include <fmt/core.h>

#include "strategy/update.h"

namespace yoke::strategy {
namespace {

class None : public Strategy {
 public:
  explicit None(const StrategyContext& context) : context_(context), update_(context) {}

  ParamView View(const StrategyStep& /*step*/) override {
    return context_.params.View(&context_.gradients);
  }

  bool UpdatesFirst() const override { return true; }
  void Step(const StrategyStep& step) override { update_.Step(step); }

  bool ExchangesBefore(const StrategyStep& /*step*/) const override { return false; }
  bool ExchangesAfter(const StrategyStep& /*step*/) const override { return false; }

  Array<const float> Model() override { return context_.params.values(); }

 private:
  StrategyContext context_;
  Update update_;
};

std::string Supports(int world) {
  if (world == 1) return "";
  return fmt::format(
      "strategy none trains one replica, and this job asks for {}; use --strategy allreduce, or "
      "another of `yoke list strategies`",
      world);
}

}  // namespace

StrategyEntry none() {
  return {.name = "none",
          .summary = "A single replica: nothing is exchanged",
          .options = {},
          .deterministic = true,
          .in_place = true,
          .values_on_device = true,
          .whole_layers = true,
          .supports = Supports,
          .estimate = [](const Options&, const ExchangeSize&) { return Cost{}; },
          .make = [](const Options&, const StrategyContext& context) -> std::unique_ptr<Strategy> {
            return std::make_unique<None>(context);
          }};
}

}  // namespace yoke::strategy
