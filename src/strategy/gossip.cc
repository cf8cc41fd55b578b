// Gossip: peers, the order of exchange and gradient, and ends.
#include "strategy/gossip.h"

#include <utility>

#include "base/options.h"
#include "base/random.h"
#include "strategy/update.h"

namespace yoke::strategy {
namespace {

constexpr uint64_t kPeers = 0x676f737369700001;  // tells these draws from all others
constexpr uint64_t kExchanges = 0x676f737369700002;

}  // namespace

void GossipExchange::Publish(ConstValues values) {
  const std::lock_guard lock(mutex_);
  published_.assign(values.begin(), values.end());
}

bool GossipExchange::TakeChange(std::vector<float>& change) {
  const std::lock_guard lock(mutex_);
  return Take(change);
}

Gossip::Gossip(const Options& options, const StrategyContext& context,
               std::unique_ptr<GossipExchange> exchange)
    : context_(context),
      period_(options.Int("period")),
      probability_(options.Float("probability")),
      update_(context),
      exchange_(std::move(exchange)),
      thread_(context.world, [this](SideThread::Endpoint& here, Message offer) {
        exchange_->Handle(here, std::move(offer));
      }) {}

void Gossip::Prepare() {
  if (alone()) return;
  exchange_->Publish(All());
  thread_.Begin();
}

ParamView Gossip::View(const StrategyStep& /*step*/) {
  if (!alone()) {
    exchange_->Publish(All());
    context_.world.Charge(CostOfMemoryCopy(std::ssize(All())));
    if (++steps_ % period_ == 0 && DrawsExchange()) {
      const int peer = DrawPeer();
      thread_.Do([this, peer](SideThread::Endpoint& here) { exchange_->Begin(here, peer); });
    }
  }
  return context_.params.View(&context_.gradients);
}

bool Gossip::DrawsExchange() const {
  if (probability_ == 1) return true;
  Random random({context_.seed, kExchanges, static_cast<uint64_t>(context_.world.rank()),
                 static_cast<uint64_t>(steps_)});
  return random.Uniform() < probability_;
}

int Gossip::DrawPeer() {
  const Communicator& world = context_.world;
  Random random({context_.seed, kPeers, static_cast<uint64_t>(world.rank()),
                 static_cast<uint64_t>(drawn_++)});
  const auto other = static_cast<int>(random.Below(world.size() - 1));
  return other < world.rank() ? other : other + 1;
}

void Gossip::Step(const StrategyStep& step) {
  if (!alone()) thread_.Wait();
  const bool moves = !alone() && exchange_->TakeChange(change_);
  if (step.examples > 0) {
    update_.Step(step);
    update_.Count(step.examples);
  }
  if (!moves) return;
  context_.world.Charge({.operations = 3.0 * static_cast<double>(change_.size()),
                         .bytes = 24.0 * static_cast<double>(change_.size())});
  Add(All(), change_);
  context_.params.Publish();
}

/// No message is under way once each rank has its answers. What is published changes only where
/// something may have come.
void Gossip::Quiesce() {
  if (alone()) return;
  const bool sends = exchange_->MayBeUnderWay();
  if (sends) thread_.Do([this](SideThread::Endpoint& here) { exchange_->AwaitAnswers(here); });
  thread_.Wait();
  context_.world.Barrier();
  thread_.Settle();
  if (sends) TakeIn();
}

/// What has come since the last step.
void Gossip::TakeIn() {
  exchange_->Publish(All());  // the step has moved them since
  if (!exchange_->TakeChange(change_)) return;
  Add(All(), change_);
  context_.params.Publish();
}

/// With weights, whose sum is 1: their mean.
Array<const float> Gossip::Model() {
  const double* weight = exchange_->Weight();
  return MeanOfReplicas(context_.world, context_.params, model_,
                        weight ? static_cast<float>(*weight * context_.world.size()) : 1);
}

ExchangeCounts Gossip::Counts() const { return CountsOfReplica(update_, context_.world, thread_); }

Value Gossip::State() const { return Table{{"steps", steps_}, {"drawn", drawn_}}; }

/// Tensors are of floats; a weight is saved by its eight bytes.
std::vector<Strategy::SavedTensor> Gossip::Tensors() {
  double* weight = exchange_->Weight();
  if (!weight) return {};
  return {{"weight",
           {.data = reinterpret_cast<float*>(weight), .count = sizeof(double) / sizeof(float)}}};
}

void Gossip::Restore(const Value& state) {
  ReadSaved(state, "steps", steps_);
  ReadSaved(state, "drawn", drawn_);
}

void Gossip::Finish() {
  Quiesce();
  thread_.Finish();
}

Strategy::Rescued Gossip::Recover() {
  thread_.Abandon();
  return {};
}

double ExchangesPerStep(const Options& options) {
  return options.Float("probability") / static_cast<double>(options.Int("period"));
}

StrategyEntry GossipEntry() {
  return {.name = {},
          .summary = {},
          .options = {PeriodOption("Steps of a rank between two of its exchanges."),
                      {.name = "probability",
                       .type = OptionType::kFloat,
                       .fallback = 1.0,
                       .help = "With this probability a rank begins the exchange that is due.",
                       .minimum = 0,
                       .maximum = 1,
                       .exclusive_minimum = true}},
          .team = EachAlone,
          .replicas_differ = true,
          .period = EveryPeriod,
          .mixing = MixesHalf,
          .estimate = nullptr,
          .make = nullptr};
}

}  // namespace yoke::strategy
