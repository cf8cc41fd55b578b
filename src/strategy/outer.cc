// Outer: local steps, and what happens when the replicas meet.
#include "strategy/outer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "strategy/update.h"

namespace yoke::strategy {
namespace {

/// Where slices of weights begin, and the end of the last.
std::vector<int64_t> SliceBorders(const ParamLayout& layout) {
  std::vector<int64_t> borders;
  for (const Slice& slice : layout.slices())
    if (slice.kind != SliceKind::kBuffer && slice.Count() > 0) borders.push_back(slice.offset);
  std::ranges::sort(borders);
  borders.push_back(layout.statistics_begin());
  return borders;
}

/// Borders of so many fragments: of the slices' borders, those nearest to equal parts.
std::vector<int64_t> FragmentBorders(const ParamLayout& layout, int64_t fragments) {
  const std::vector<int64_t> slices = SliceBorders(layout);
  const auto count = static_cast<int64_t>(slices.size()) - 1;
  Check(fragments == 1 || fragments <= count, "more fragments than parameters");
  std::vector<int64_t> borders = {0};
  auto next = slices.begin() + 1;
  for (int64_t f = 1; f < fragments; ++f) {
    const int64_t equal = PieceBegin(layout.statistics_begin(), f, fragments);
    const auto last = slices.end() - 1 - (fragments - f);  // so that each later one has a slice
    const auto nearest = std::min_element(next, last + 1, [equal](int64_t a, int64_t b) {
      return std::abs(a - equal) < std::abs(b - equal);
    });
    borders.push_back(*nearest);
    next = nearest + 1;
  }
  borders.push_back(layout.statistics_begin());
  return borders;
}

}  // namespace

int64_t OuterPeriod(const Options& options, int64_t longest, int64_t steps_per_epoch) {
  if (options.Has("period")) return options.Int("period");
  if (steps_per_epoch == 0) return longest;
  return std::clamp<int64_t>(steps_per_epoch / 4, 1, longest);
}

Cost CostOfOuter(const Options& options, const ExchangeSize& size, int64_t period,
                 int64_t fragments) {
  if (size.world == 1) return {};
  const int64_t bytes = size.bytes / fragments;
  Cost cost = CostOfAllReduce(bytes, size.world);
  if (const Compressor compressor(ReadDenseCompression(options));
      compressor.kind() != Compression::kNone)
    cost = CostOfSumCompressed(compressor, bytes / 4, size.world);
  const double exchanges = static_cast<double>(fragments) / static_cast<double>(period);
  return {.messages = cost.messages * exchanges, .message_bytes = cost.message_bytes * exchanges};
}

Outer::Outer(const Options& options, const StrategyContext& context, OuterSettings settings)
    : context_(context),
      settings_(std::move(settings)),
      update_(context),
      statistics_(context.params.layout()),
      sum_({.compression = ReadDenseCompression(options), .beside = settings_.overlap > 0},
           context) {
  if (!Meets()) return;
  common_ = BufferLike(Weights());
  if (settings_.momentum) momentum_ = BufferLike(Weights());
  const std::vector<int64_t> borders =
      FragmentBorders(context.params.layout(), settings_.fragments);
  int64_t largest = 0;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    fragments_.push_back({.begin = borders[i], .end = borders[i + 1]});
    largest = std::max(largest, borders[i + 1] - borders[i]);
  }
  sum_.Allocate(largest);
}

Array<float> Outer::Weights() const { return context_.params.values().First(statistics_.begin()); }

void Outer::Prepare() {
  if (settings_.base) settings_.base->Prepare();
  if (!Meets()) return;
  if (!restored_) Copy(AllOf<float>(common_), Weights());
  sum_.Prepare();
}

ParamView Outer::View(const StrategyStep& step) {
  if (settings_.base) return settings_.base->View(step);
  return context_.params.View(&context_.gradients);
}

void Outer::Step(const StrategyStep& step) {
  StepInside(step);
  if (!Meets()) {
    ++updates_;
    return;
  }
  if (arrives_in_ > 0 && --arrives_in_ == 0) Take(step.learning_rate);
  const bool due = IsDue(step);
  cut_ = IsCut(step);
  highest_rate_ = HighestRate(step);
  ++since_;
  if (!due || arrives_in_ > 0) return;
  Send();
  arrives_in_ = settings_.overlap;
  if (arrives_in_ == 0) Take(step.learning_rate);
}

void Outer::StepInside(const StrategyStep& step) {
  examples_ += step.examples;
  if (settings_.base)
    settings_.base->Step(step);
  else if (step.examples > 0)
    update_.Step(step);
}

/// After this step, the next one.
bool Outer::IsDue(const StrategyStep& step) const {
  const int64_t period = settings_.after_cut && !IsCut(step) ? 1 : settings_.period;
  return since_ + 1 >= period * (fragment_ + 1) / settings_.fragments;
}

bool Outer::IsCut(const StrategyStep& step) const {
  constexpr double kCut = 0.55;  // schedules that fall step by step cut to a half or less
  return cut_ || step.learning_rate < kCut * HighestRate(step);
}

double Outer::HighestRate(const StrategyStep& step) const {
  return std::max({highest_rate_, step.highest_rate, step.learning_rate});
}

bool Outer::ExchangesAfter(const StrategyStep& step) const {
  if (!Meets()) return false;
  return HasBase() || arrives_in_ == 1 || (arrives_in_ == 0 && IsDue(step));
}

void Outer::Send() {
  if (settings_.base) settings_.base->Quiesce();
  const Fragment& fragment = fragments_[fragment_];
  if (IsLast()) since_ = 0;
  sum_.Begin(fragment.Of(AllOf<float>(common_)), fragment.Of(Weights()), fragment.begin, IsLast());
}

void Outer::Take(double learning_rate) {
  sum_.Wait();
  const Fragment& fragment = fragments_[fragment_];
  const Array<float> common = fragment.Of(AllOf<float>(common_));
  settings_.step(
      {.values = common,
       .change = sum_.Change(common.count),
       .momentum = momentum_.bytes() == 0 ? Array<float>() : fragment.Of(AllOf<float>(momentum_)),
       .learning_rate = learning_rate});
  MixIn(fragment.Of(Weights()), common);
  if (IsLast()) {
    MixIn(statistics_.Of(context_.params.values()), sum_.Statistics());
    ++updates_;
  }
  fragment_ = (fragment_ + 1) % settings_.fragments;
  if (settings_.base) settings_.base->StartAnew();
  if (settings_.resets_rule) ResetRule();
  context_.params.Publish();
  const auto bytes = static_cast<double>(common.Bytes());
  context_.world.Charge({.operations = 1.5 * bytes, .bytes = 6 * bytes});
}

void Outer::MixIn(Array<float> own, Array<const float> common) const {
  if (settings_.mix == 0)
    Copy(own, common);
  else
    MoveTowards(own, 1 - settings_.mix, common);
}

void Outer::ResetRule() {
  for (size_t i = 0; i < context_.state.names().size(); ++i)
    Fill(context_.state.array(static_cast<int>(i)), 0);
}

void Outer::Quiesce() {
  if (settings_.base) settings_.base->Quiesce();
  sum_.Wait();
}

Array<const float> Outer::Model() {
  const bool become_equal =
      settings_.fragments == 1 && settings_.overlap == 0 && settings_.mix == 0;
  if (since_ == 0 && become_equal) return context_.params.values();
  return MeanOfReplicas(context_.world, context_.params, model_);
}

ExchangeCounts Outer::Counts() const {
  ExchangeCounts counts = {.traffic = context_.world.traffic(), .examples = examples_};
  counts.seconds_waiting = sum_.seconds_waited();
  counts.traffic += sum_.traffic();
  if (settings_.base) {
    const ExchangeCounts inside = settings_.base->Counts();
    counts.seconds_waiting += inside.seconds_waiting;
    counts.traffic += inside.traffic;
  }
  if (context_.world.rank() > 0) return counts;
  counts.updates = updates_;
  counts.staleness = {updates_};
  return counts;
}

Value Outer::State() const {
  return Table{{"since", since_},
               {"highest_rate", highest_rate_},
               {"cut", cut_},
               {"common", Meets()},
               {"fragments", settings_.fragments},
               {"fragment", fragment_},
               {"arrives_in", arrives_in_},
               {"base", settings_.base ? settings_.base->State() : Value()}};
}

/// A sum under way that no longer fits is dropped: the fragment's next sum includes its change.
void Outer::Restore(const Value& state) {
  ReadSaved(state, "since", since_);
  ReadSaved(state, "highest_rate", highest_rate_);
  ReadSaved(state, "cut", cut_);
  ReadSaved(state, "common", restored_);
  int64_t fragments = 1;
  ReadSaved(state, "fragments", fragments);
  if (fragments == settings_.fragments) {
    ReadSaved(state, "fragment", fragment_);
    ReadSaved(state, "arrives_in", arrives_in_);
    if (arrives_in_ > 0 && settings_.overlap == 0) {
      arrives_in_ = 0;
      fragment_ = (fragment_ + 1) % settings_.fragments;
    }
  }
  if (const Value* base = state.Find("base"); base && settings_.base)
    settings_.base->Restore(*base);
}

std::vector<Strategy::SavedTensor> Outer::Tensors() {
  std::vector<SavedTensor> saved;
  if (settings_.base) saved = settings_.base->Tensors();
  Save(saved, "common", common_);
  Save(saved, "momentum", momentum_);
  sum_.SaveIn(saved);
  return saved;
}

void Outer::Finish() {
  Quiesce();
  if (settings_.base) settings_.base->Finish();
  sum_.Finish();
}

Strategy::Rescued Outer::Recover() {
  sum_.Abandon();
  return settings_.base ? settings_.base->Recover() : Rescued();
}

StrategyEntry OuterEntry(const std::string& longest) {
  return {.name = {},
          .summary = {},
          .options = {{.name = "period",
                       .type = OptionType::kInt,
                       .help = "Steps of each replica between two meetings; by default " + longest +
                               ", or a quarter of an epoch if that is less.",
                       .minimum = 1,
                       .maximum = kMostCount,
                       .tries = {8, 32, 128}},
                      DenseCompressionOption()},
          .deterministic = true,
          .in_place = true,
          .values_on_device = true,
          .replicas_differ = true,
          .estimate = nullptr,
          .make = nullptr};
}

}  // namespace yoke::strategy
