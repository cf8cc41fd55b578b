// Pull gossip: rank i asks a random rank j for its values: x_i <- (x_i + x_j) / 2 - step; j's stay
// as they are. Jin, Yuan, Iandola, Keutzer, "How to Scale Distributed Deep Learning?" (2016, arXiv
// 1611.04581). Cost of a step of a rank: an empty message to j and |W| bytes back.
#include <utility>

#include "strategy/gossip.h"

namespace yoke::strategy {
namespace {

class Pull : public GossipExchange {
 public:
  void Begin(Endpoint& here, int peer) override {
    here.Offer({}, peer);
    here.HandleOffersUntil([this] { return !answer_.bytes.empty(); });
  }

  /// An empty message asks for the values; any other brings them.
  void Handle(Endpoint& here, Message offer) override {
    if (!offer.bytes.empty()) {
      answer_ = std::move(offer);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      sent_ = published();
    }
    here.world().Charge(CostOfMemoryCopy(std::ssize(sent_)));
    here.Offer(std::as_bytes(std::span(sent_)), offer.source);
  }

 protected:
  bool Take(std::vector<float>& change) override {
    if (answer_.bytes.empty()) return false;
    change.resize(published().size());
    ScaledDifference(change, 0.5F, ValuesIn(answer_, published().size()), published());
    answer_ = {};
    return true;
  }

 private:
  Message answer_;  // of this rank's own request; empty: none
  std::vector<float> sent_;
};

}  // namespace

StrategyEntry gossip_pull() {
  StrategyEntry entry = GossipEntry();
  entry.name = "gossip_pull";
  entry.summary = "Each replica averages with a random other's values, which stay as they are";
  entry.estimate = [](const Options& options, const ExchangeSize& size) -> Cost {
    if (size.world == 1) return {};
    const double exchanges = size.world * ExchangesPerStep(options);
    return {.messages = 2 * exchanges,
            .message_bytes = exchanges * static_cast<double>(size.bytes)};
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Gossip>(options, context, std::make_unique<Pull>());
  };
  return entry;
}

}  // namespace yoke::strategy
