// Stochastic gradient push. Cost of a push of a rank: one message of |W| + 8 bytes.
#include "strategy/sgp.h"

#include <bit>
#include <utility>

#include "base/options.h"
#include "strategy/update.h"
#include "tensor/array.h"
#include "tensor/counting.h"

namespace yoke::strategy {
namespace {

constexpr int64_t kWeight = sizeof(double);  // the first bytes of a message

std::span<std::byte> BytesOf(const Buffer& message) {
  return {message.As<std::byte>(), static_cast<size_t>(message.bytes())};
}
Array<float> ValuesIn(const Buffer& message) {
  return AllOf<float>(message).Part(kWeight / sizeof(float), message.bytes() / sizeof(float));
}

}  // namespace

Sgp::Sgp(const SgpSettings& settings, const StrategyContext& context)
    : context_(context),
      settings_(settings),
      update_(context),
      statistics_(context.params.layout()),
      thread_(context.world, nullptr, *context.params.values().device) {
  if (alone()) return;
  if (!All().OnHost()) half_ = BufferLike(All());
  for (Buffer* message : {&leaving_, &arriving_})
    *message = Buffer(All().device->staging(), kWeight + All().Bytes());
  if (settings.overlaps) copy_ = BufferLike(All());
}

void Sgp::Prepare() {
  if (!alone()) thread_.Begin();
}

Array<float> Sgp::Half() const {
  return half_.bytes() > 0 ? AllOf<float>(half_) : ValuesIn(arriving_);
}

/// A copy divided by the weight; with a weight of 1, the values themselves.
ParamView Sgp::View(const StrategyStep& /*step*/) {
  TakeBack();
  ParamView view = context_.params.View(&context_.gradients);
  copied_ = weight_ != 1;
  if (!copied_) return view;
  if (copy_.bytes() == 0) copy_ = BufferLike(All());
  const Array<float> copy = AllOf<float>(copy_);
  Copy(copy, All());
  Scale(copy, static_cast<float>(1 / weight_));
  statistics_.Remember(copy);
  view.values = view.writable = copy;
  return view;
}

void Sgp::Step(const StrategyStep& step) {
  if (copied_) statistics_.AddChanges(AllOf<float>(copy_), All(), static_cast<float>(weight_));
  if (step.examples > 0) {
    update_.Step(step);
    update_.Count(step.examples);
  }
  if (alone()) return;
  Land();  // of the step before, if it overlaps
  if (++steps_ % settings_.period != 0) return;
  Push();
  if (!settings_.overlaps) Land();
}

void Sgp::Push() {
  const int ranks = context_.world.size(), rank = context_.world.rank();
  const int hops = std::bit_width(static_cast<unsigned>(ranks - 1));  // floor(log2(n - 1)) + 1
  const int64_t push = steps_ / settings_.period - 1;
  const int distance = 1 << (push % hops);
  Scale(All(), 0.5F);
  weight_ /= 2;
  const CountedAs scope("exchange");
  *leaving_.As<double>() = weight_;
  StartCopy(ValuesIn(leaving_), All());
  CurrentStream(*All().device).Record(copied_out_);
  under_way_ = true;
  thread_.Do([this, to = (rank + distance) % ranks,
              from = (rank - distance + ranks) % ranks](SideThread::Endpoint& here) {
    const CountedAs scope("exchange");
    copied_out_->Wait();
    here.world().Send(BytesOf(leaving_), to, kHalf, kWeight);
    here.world().Receive(BytesOf(arriving_), from, kHalf);
    half_weight_ = *arriving_.As<double>();
    if (half_.bytes() > 0) StartCopy(AllOf<float>(half_), ValuesIn(arriving_));
  });
}

/// Adds what the message under way brings.
void Sgp::Land() {
  if (!std::exchange(under_way_, false)) return;
  thread_.Wait();
  weight_ += half_weight_;
  Add(All(), Half());
  context_.params.Publish();
  const auto count = static_cast<double>(All().count);
  Cost cost = CostOfMemoryCopy(2 * All().count);  // into and out of messages
  cost += {.operations = 2 * count, .bytes = 20 * count};
  context_.world.Charge(cost);
}

void Sgp::Quiesce() {
  if (!under_way_) return;
  Copy(AllOf<float>(copy_), All());
  weight_before_ = weight_;
  Land();
  taken_early_ = true;
}

void Sgp::TakeBack() {
  if (!std::exchange(taken_early_, false)) return;
  Copy(All(), AllOf<float>(copy_));
  weight_ = weight_before_;
  under_way_ = true;
  context_.params.Publish();
}

ExchangeCounts Sgp::Counts() const { return CountsOfReplica(update_, context_.world, thread_); }

Value Sgp::State() const {
  return Table{{"steps", steps_},
               {"weight", weight_},
               {"taken_early", taken_early_},
               {"weight_before", weight_before_},
               {"half_weight", half_weight_}};
}

void Sgp::Restore(const Value& state) {
  ReadSaved(state, "steps", steps_);
  ReadSaved(state, "weight", weight_);
  if (!settings_.overlaps) return;
  ReadSaved(state, "taken_early", taken_early_);
  ReadSaved(state, "weight_before", weight_before_);
  ReadSaved(state, "half_weight", half_weight_);
}

std::vector<Strategy::SavedTensor> Sgp::Tensors() {
  std::vector<SavedTensor> saved;
  if (!settings_.overlaps) return saved;
  Save(saved, "before", copy_);
  if (!alone()) saved.push_back({.name = "half", .values = Half()});
  return saved;
}

void Sgp::Finish() {
  Quiesce();
  thread_.Finish();
}

Strategy::Rescued Sgp::Recover() {
  thread_.Abandon();
  if (weight_ != 1) Scale(All(), static_cast<float>(1 / weight_));
  return {};
}

Cost CostOfPushes(const ExchangeSize& size, double pushes_per_step) {
  if (size.world == 1) return {};
  const double pushes = size.world * pushes_per_step;
  return {.messages = pushes, .message_bytes = pushes * (8.0 + static_cast<double>(size.bytes))};
}

StrategyEntry sgp() {
  return {.name = "sgp",
          .summary = "Each replica sends half of its values to a peer that changes every step",
          .options = {{.name = "period",
                       .type = OptionType::kInt,
                       .fallback = 1,
                       .help = "Steps between pushes.",
                       .minimum = 1,
                       .maximum = kMostCount,
                       .tries = {4, 16}},
                      {.name = "overlap",
                       .type = OptionType::kBool,
                       .fallback = false,
                       .help = "Use what arrives one step later, so that it travels beside the "
                               "next gradient."}},
          .deterministic = true,
          .values_on_device = true,
          .replicas_differ = true,
          .period = EveryPeriod,
          .mixing = MixesHalf,
          .estimate =
              [](const Options& options, const ExchangeSize& size) {
                return CostOfPushes(size, 1.0 / static_cast<double>(options.Int("period")));
              },
          .make = [](const Options& options,
                     const StrategyContext& context) -> std::unique_ptr<Strategy> {
            return std::make_unique<Sgp>(
                SgpSettings{.period = options.Int("period"), .overlaps = options.Bool("overlap")},
                context);
          }};
}

}  // namespace yoke::strategy
