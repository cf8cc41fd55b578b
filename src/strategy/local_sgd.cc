// Local SGD: each replica takes `period` steps alone, then all average:
//   x_i <- mean over the ranks of x_i   every H steps.
// Stich, "Local SGD Converges Fast and Communicates Little" (2019); with `post_local` H = 1 until
// the learning rate is first cut: Lin, Stich, Patel, Jaggi, "Don't Use Large Mini-Batches, Use
// Local SGD" (2020, arXiv 1808.07217). Cost: an all-reduce of the model every H steps.
#include "strategy/outer.h"

namespace yoke::strategy {
namespace {

int64_t LocalPeriod(const Options& options, int64_t steps_per_epoch) {
  return OuterPeriod(options, /*longest=*/8, steps_per_epoch);
}

}  // namespace

StrategyEntry local_sgd() {
  StrategyEntry entry = OuterEntry("8");
  entry.name = "local_sgd";
  entry.whole_layers = true;
  entry.summary = "Replicas train alone for a period, then average";
  entry.options.push_back(
      {.name = "post_local",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "Average after every step until the learning rate is first "
               "cut (to less than 0.55 of its highest); at a constant rate always."});
  entry.period = LocalPeriod;
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfOuter(options, size, options.Bool("post_local") ? 1 : LocalPeriod(options, 0));
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Outer>(
        options, context,
        OuterSettings{.period = LocalPeriod(options, context.steps_per_epoch),
                      .after_cut = options.Bool("post_local"),
                      .alone = false,
                      .step = [](const OuterState& s) { Subtract(s.values, s.change); }});
  };
  return entry;
}

}  // namespace yoke::strategy
