// DiLoCo: many inner steps of each replica, then one outer step of Nesterov's momentum for all.
// Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models" (2023,
// arXiv 2311.08105). With Delta the mean over the replicas of theta_prev - theta_i:
//   v <- mu v + Delta,   theta <- theta_prev - rate (Delta + mu v).
// The inner rule is the job's (the paper's is adamw); its state is local and kept. Cost: that of
// local_sgd. Streaming DiLoCo (2025, arXiv 2501.18512): fragments of the weights meet in turn, each
// exchange runs beside the next steps, and what comes of it is mixed in:
//   theta_i <- (1 - mix) theta + mix theta_i.
#include <algorithm>

#include "base/check.h"
#include "base/options.h"
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
  return state.names().size() == 2 && state.all_scalars().empty() ? 0.9 : 0.6;
}

int64_t PeriodOf(const Options& options, int64_t steps_per_epoch) {
  if (options.Has("period")) return options.Int("period");
  return std::max(kShortestInner, OuterPeriod(options, kLongestInner, steps_per_epoch));
}

/// What a replica has learned beside an exchange is not lost if it keeps part of its values.
double MixOf(const Options& options) {
  if (options.Has("mix")) return options.Float("mix");
  return options.Int("overlap") == 0 ? 0 : 0.5;
}

/// At most one fragment is under way.
void CheckFragments(const Options& options, const ParamLayout& layout, int64_t period) {
  const int64_t fragments = options.Int("fragments"), overlap = options.Int("overlap");
  const auto weights = std::ranges::count_if(
      layout.slices(), [](const Slice& slice) { return slice.kind != SliceKind::kBuffer; });
  Require(fragments <= weights, "{}: {} fragments, but the model has {} parameters to divide",
          options.Where("fragments"), fragments, weights);
  Require(fragments <= period, "{}: {} fragments cannot meet in turn in a period of {} steps",
          options.Where("fragments"), fragments, period);
  const int64_t apart = period / fragments;
  Require(overlap < apart,
          "{}: an exchange of {} steps is not over when the next one begins; {} fragments in a "
          "period of {} steps meet {} apart, so at most {} here",
          options.Where("overlap"), overlap, fragments, period, apart, apart - 1);
}

std::vector<OptionSpec> DilocoOptions() {
  return {{.name = "outer_rate",
           .type = OptionType::kFloat,
           .fallback = 0.7,
           .help = "Learning rate of the outer step.",
           .minimum = 0,
           .exclusive_minimum = true},
          {.name = "outer_momentum",
           .type = OptionType::kFloat,
           .help = "Momentum of the outer step; by default 0.9 with rules that have two averages "
                   "(adam, adamw), otherwise 0.6.",
           .minimum = 0,
           .maximum = 0.999},
          {.name = "fragments",
           .type = OptionType::kInt,
           .fallback = 1,
           .help = "Parts of the weights that meet in turn, each once a period.",
           .minimum = 1,
           .maximum = kMostCount},
          {.name = "overlap",
           .type = OptionType::kInt,
           .fallback = 0,
           .help = "Steps that training goes on beside an exchange; less than period / fragments.",
           .minimum = 0,
           .maximum = kMostCount},
          {.name = "mix",
           .type = OptionType::kFloat,
           .help = "Fraction of its own values that a replica keeps when an outer step arrives; by "
                   "default 0.5 with overlap, otherwise 0.",
           .minimum = 0,
           .maximum = 0.999}};
}

std::unique_ptr<Strategy> MakeDiloco(const Options& options, const StrategyContext& context) {
  const auto rate = static_cast<float>(options.Float("outer_rate"));
  const auto mu = static_cast<float>(OuterMomentum(options, context.state));
  const int64_t period = PeriodOf(options, context.steps_per_epoch);
  CheckFragments(options, context.params.layout(), period);
  const auto step = [rate, mu](const OuterState& s) {
    Scale(s.momentum, mu);
    Add(s.momentum, s.change);
    AddScaled(s.values, -rate, s.change);
    AddScaled(s.values, -rate * mu, s.momentum);
  };
  return std::make_unique<Outer>(options, context,
                                 OuterSettings{.period = period,
                                               .fragments = options.Int("fragments"),
                                               .overlap = options.Int("overlap"),
                                               .mix = static_cast<float>(MixOf(options)),
                                               .momentum = true,
                                               .step = step});
}

}  // namespace

StrategyEntry diloco() {
  StrategyEntry entry = OuterEntry("500");
  entry.name = "diloco";
  entry.whole_layers = true;
  entry.summary = "Replicas train alone for a long period, then take an outer Nesterov step";
  entry.rule_alone = false;
  entry.options.front().help += " The default is never below 12; short periods diverge.";
  for (const OptionSpec& option : DilocoOptions()) entry.options.push_back(option);
  entry.period = PeriodOf;
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfOuter(options, size, PeriodOf(options, 0), options.Int("fragments"));
  };
  entry.make = MakeDiloco;
  return entry;
}

}  // namespace yoke::strategy
