// Gossip: peers, the order of exchange and gradient, and ends.
#include "strategy/gossip.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"

namespace yoke::strategy {
namespace {

constexpr uint64_t kPeers = 0x676f737369700001;  // tells these draws from all others

}  // namespace

Gossip::Gossip(const Options& options, const StrategyContext& context)
    : context_(context),
      period_(options.Int("period")),
      update_(context),
      statistics_(context.params.layout()),
      offered_(context.world.size()),
      thread_(context.world, [this](Endpoint& here, const Message& offer) {
        Handle(here, offer);
        ++handled_;
      }) {}

void Gossip::Prepare() {
  if (alone()) return;
  published_.resize(context_.params.layout().size());
  PublishNow();
  thread_.Begin();
}

ParamView Gossip::View(const StrategyStep& /*step*/) {
  if (!alone()) {
    {
      const std::lock_guard lock(mutex_);
      PublishNow();
    }
    if (++steps_ % period_ == 0) {
      const int peer = DrawPeer();
      ++offered_[peer];
      thread_.Do([this, peer](Endpoint& here) { Exchange(here, peer); });
    }
  }
  return context_.params.View(&context_.gradients);
}

void Gossip::PublishNow() {
  std::copy_n(context_.params.values(), published_.size(), published_.begin());
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
  bool moves = false;
  if (!alone()) {
    const std::lock_guard lock(mutex_);
    moves = TakeChange(change_);
  }
  if (step.examples > 0) {
    update_.Step(step);
    update_.Count(step.examples);
  }
  if (!moves) return;
  Add({context_.params.values(), change_.size()}, change_);
  context_.world.Charge({.operations = 3.0 * static_cast<double>(change_.size()),
                         .bytes = 24.0 * static_cast<double>(change_.size())});
  context_.params.Publish();
}

ConstValues Gossip::ValuesIn(const Message& message, size_t header) const {
  Check(message.bytes.size() == header + 4 * published_.size(),
        "ranks disagree about the size of a model");
  return {reinterpret_cast<const float*>(message.bytes.data() + header), published_.size()};
}

/// Jobs are over once each rank has waited for its own; offers without answer are counted.
void Gossip::Quiesce() {
  if (alone()) return;
  thread_.Wait();
  if (OffersNeedNoAnswer()) AwaitOffers();
  context_.world.Barrier();
}

void Gossip::AwaitOffers() {
  const Communicator& world = context_.world;
  int64_t expected = 0;
  for (const auto& bytes : world.AllGather(std::as_bytes(std::span(offered_)))) {
    int64_t to_this = 0;
    std::memcpy(&to_this, bytes.data() + sizeof(int64_t) * world.rank(), sizeof to_this);
    expected += to_this;
  }
  thread_.Do([this, expected](Endpoint& here) {
    here.HandleOffersUntil([this, expected] { return handled_ == expected; });
  });
  thread_.Wait();
}

const float* Gossip::Model() {
  if (alone()) return context_.params.values();
  const float* values = context_.params.values();
  model_.assign(values, values + published_.size());
  context_.world.Reduce(model_, 0);
  Divide(model_, static_cast<float>(context_.world.size()));
  return model_.data();
}

ExchangeCounts Gossip::Counts() const {
  ExchangeCounts counts = update_.counts();
  counts.traffic = context_.world.traffic();
  counts.traffic += thread_.traffic();
  counts.seconds_waiting = thread_.seconds_waited();
  return counts;
}

Value Gossip::State() const { return Table{{"steps", steps_}, {"drawn", drawn_}}; }

void Gossip::Restore(const Value& state) {
  const auto number = [&state](const char* key) {
    const Value* value = state.Find(key);
    return value && value->AsInt() ? *value->AsInt() : 0;
  };
  steps_ = number("steps");
  drawn_ = number("drawn");
}

void Gossip::Finish() {
  Quiesce();
  thread_.Finish();
}

Strategy::Rescued Gossip::Recover() {
  thread_.Abandon();
  return {};
}

StrategyEntry GossipEntry() {
  return {.name = {},
          .summary = {},
          .options = {{.name = "period",
                       .type = OptionType::kInt,
                       .fallback = 1,
                       .help = "Steps of a rank between two of its exchanges.",
                       .minimum = 1,
                       .maximum = kMostCount}},
          .team = EachAlone,
          .replicas_differ = true,
          .estimate = nullptr,
          .make = nullptr};
}

}  // namespace yoke::strategy
