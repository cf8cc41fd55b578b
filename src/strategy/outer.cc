// Outer: local steps, and what happens when the replicas meet.
#include "strategy/outer.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "strategy/kept.h"
#include "strategy/replicas.h"

namespace yoke::strategy {
int64_t OuterPeriod(const Options& options, int64_t longest, int64_t steps_per_epoch) {
  if (options.Has("period")) return options.Int("period");
  if (steps_per_epoch == 0) return longest;
  return std::clamp<int64_t>(steps_per_epoch / 4, 1, longest);
}

Cost CostOfOuter(const Options& options, const ExchangeSize& size, int64_t period) {
  if (size.world == 1) return {};
  Cost cost = CostOfAllReduce(size.bytes, size.world);
  if (const Compressor compressor(ReadDenseCompression(options));
      compressor.kind() != Compression::kNone)
    cost = CostOfSumCompressed(compressor, size.bytes / 4, size.world);
  const auto steps = static_cast<double>(period);
  return {.messages = cost.messages / steps, .message_bytes = cost.message_bytes / steps};
}

Outer::Outer(const Options& options, const StrategyContext& context, OuterSettings settings)
    : context_(context),
      settings_(std::move(settings)),
      compressor_(context.world.size() > 1 ? ReadDenseCompression(options) : CompressionSettings{},
                  context.params.layout().statistics_begin()),
      update_(context),
      statistics_(context.params.layout()) {
  if (!Meets()) return;
  common_.resize(statistics_.begin());
  change_.resize(statistics_.begin());
  if (settings_.momentum) momentum_.resize(statistics_.begin());
}

Values Outer::Weights() const {
  return {context_.params.values(), static_cast<size_t>(statistics_.begin())};
}

void Outer::Prepare() {
  if (Meets() && !restored_) std::ranges::copy(Weights(), common_.begin());
}

ParamView Outer::View(const StrategyStep& /*step*/) {
  return context_.params.View(&context_.gradients);
}

void Outer::Step(const StrategyStep& step) {
  if (step.examples > 0) update_.Step(step);
  examples_ += step.examples;
  if (Meets() && IsDue(step)) {
    Meet(step.learning_rate);
    ++updates_;
  } else if (!Meets()) {
    ++updates_;
  }
}

bool Outer::IsDue(const StrategyStep& step) {
  constexpr double kCut = 0.55;  // schedules that fall step by step cut to a half or less
  highest_rate_ = std::max(highest_rate_, step.learning_rate);
  cut_ = cut_ || step.learning_rate < kCut * highest_rate_;
  const int64_t period = settings_.after_cut && !cut_ ? 1 : settings_.period;
  return ++since_ >= period;
}

void Outer::Meet(double learning_rate) {
  const Communicator& world = context_.world;
  since_ = 0;
  ScaledDifference(change_, 1 / static_cast<float>(world.size()), common_, Weights());
  if (compressor_.kind() == Compression::kNone)
    world.AllReduce(change_);
  else
    SumCompressed(world, compressor_, change_, 0);
  settings_.step({.values = common_,
                  .change = change_,
                  .momentum = momentum_,
                  .learning_rate = learning_rate});
  std::ranges::copy(common_, context_.params.values());
  statistics_.Average(world, context_.params.values());
  if (settings_.resets_rule) ResetRule();
  context_.params.Publish();
  const auto bytes = static_cast<double>(4 * statistics_.begin());
  world.Charge({.operations = 1.5 * bytes, .bytes = 6 * bytes});
}

void Outer::ResetRule() {
  for (size_t i = 0; i < context_.state.names().size(); ++i)
    std::fill_n(context_.state.array(static_cast<int>(i)), context_.params.layout().size(), 0.0F);
}

const float* Outer::Model() {
  if (since_ == 0) return context_.params.values();
  return MeanOfReplicas(context_.world, context_.params, model_);
}

ExchangeCounts Outer::Counts() const {
  ExchangeCounts counts = {.traffic = context_.world.traffic(), .examples = examples_};
  counts.seconds_waiting = counts.traffic.seconds_waited;
  if (context_.world.rank() > 0) return counts;
  counts.updates = updates_;
  counts.staleness = {updates_};
  return counts;
}

Value Outer::State() const {
  return Table{
      {"since", since_}, {"highest_rate", highest_rate_}, {"cut", cut_}, {"common", Meets()}};
}

void Outer::Restore(const Value& state) {
  ReadKept(state, "since", since_);
  ReadKept(state, "highest_rate", highest_rate_);
  ReadKept(state, "cut", cut_);
  ReadKept(state, "common", restored_);
}

std::vector<Strategy::KeptTensor> Outer::Tensors() {
  std::vector<KeptTensor> kept;
  Keep(kept, "common", common_);
  Keep(kept, "momentum", momentum_);
  Keep(kept, "residual", compressor_.residual());
  return kept;
}

StrategyEntry OuterEntry(const std::string& longest) {
  return {.name = {},
          .summary = {},
          .options = {{.name = "period",
                       .type = OptionType::kInt,
                       .help = "Steps of each replica between two meetings; by default " + longest +
                               ", or a quarter of an epoch if that is less.",
                       .minimum = 1,
                       .maximum = kMostCount},
                      DenseCompressionOption()},
          .deterministic = true,
          .in_place = true,
          .replicas_differ = true,
          .estimate = nullptr,
          .make = nullptr};
}

}  // namespace yoke::strategy
