// DiLoCo: many inner steps of each replica, then one outer step of Nesterov's momentum for all.
// Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models" (2023,
// arXiv 2311.08105). With Delta the mean over the replicas of theta_prev - theta_i:
//   v <- mu v + Delta,   theta <- theta_prev - rate (Delta + mu v).
// The inner rule is the job's (the paper's is adamw); its state is local and kept. Cost: that of
// local_sgd.
#include <algorithm>

#include "strategy/outer.h"

namespace yoke::strategy {
namespace {

constexpr int64_t kLongestInner = 500;
/// Two momenta over the same few steps diverge: at an inner one of 0.9 and a rate of 0.05 on a
/// curvature of 1, periods below 8 do.
constexpr int64_t kShortestInner = 12;

/// An inner velocity amplifies the outer one: LeNet at an inner momentum of 0.9, a rate of 0.02 and
/// a period of 23 diverges at an outer 0.9.
double OuterMomentum(const Options& options, const RuleState& state) {
  if (options.Has("outer_momentum")) return options.Float("outer_momentum");
  return state.names().size() == 2 ? 0.9 : 0.6;
}

int64_t PeriodOf(const Options& options, int64_t steps_per_epoch) {
  if (options.Has("period")) return options.Int("period");
  return std::max(kShortestInner, OuterPeriod(options, kLongestInner, steps_per_epoch));
}

}  // namespace

StrategyEntry diloco() {
  StrategyEntry entry = OuterEntry("500");
  entry.name = "diloco";
  entry.summary = "Replicas train alone for a long period, then take an outer Nesterov step";
  entry.rule_alone = false;
  entry.options.front().help += " At least 12.";
  entry.options.push_back({.name = "outer_rate",
                           .type = OptionType::kFloat,
                           .fallback = 0.7,
                           .help = "Learning rate of the outer step.",
                           .minimum = 0,
                           .exclusive_minimum = true});
  entry.options.push_back({.name = "outer_momentum",
                           .type = OptionType::kFloat,
                           .help = "Momentum of the outer step; by default 0.9 with rules that "
                                   "have two averages (adam, adamw), otherwise 0.6.",
                           .minimum = 0,
                           .maximum = 0.999});
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfOuter(options, size, OuterPeriod(options, kLongestInner, 0));
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    const auto rate = static_cast<float>(options.Float("outer_rate"));
    const auto mu = static_cast<float>(OuterMomentum(options, context.state));
    const auto step = [rate, mu](const OuterState& s) {
      Scale(s.momentum, mu);
      Add(s.momentum, s.change);
      AddScaled(s.values, -rate, s.change);
      AddScaled(s.values, -rate * mu, s.momentum);
    };
    return std::make_unique<Outer>(
        options, context,
        OuterSettings{
            .period = PeriodOf(options, context.steps_per_epoch), .momentum = true, .step = step});
  };
  return entry;
}

}  // namespace yoke::strategy
