// Push gossip: rank i sends its values to a random rank; each takes the mean of its own and all
// that it has received, minus its step. Jin, Yuan, Iandola, Keutzer (2016, arXiv 1611.04581). The
// mean of the replicas drifts. With `weights` (GoSGD: Blot, Picard, Cord, Thome, 2016, arXiv
// 1611.09726) a rank has a weight w, 1/p at first; a sender halves its own and sends half; a
// receiver takes
//   x <- (w x + sum w' x') / (w + sum w'),   w <- w + sum w':
// the weighted mean is kept. Cost of a step of a rank: a message of |W| bytes.
#include "strategy/gossip.h"
#include "strategy/packing.h"

namespace yoke::strategy {
namespace {

class GossipPush : public Gossip {
 public:
  GossipPush(const Options& options, const StrategyContext& context)
      : Gossip(options, context),
        weighted_(options.Bool("weights")),
        weight_(1.0 / context.world.size()) {}

  void Quiesce() override {
    Gossip::Quiesce();
    Merge();
  }
  Value State() const override {
    Value state = Gossip::State();
    state.Set("weight", weight_);
    return state;
  }
  void Restore(const Value& state) override {
    Gossip::Restore(state);
    if (const Value* weight = state.Find("weight"); weight && weight->AsFloat())
      weight_ = *weight->AsFloat();
  }

 protected:
  bool OffersNeedNoAnswer() const override { return true; }

  void Exchange(Endpoint& here, int peer) override {
    message_.clear();
    {
      const std::lock_guard lock(mutex());
      if (weighted_) weight_ /= 2;
      const double weight = weighted_ ? weight_ : 1;
      Append(message_, std::span(&weight, 1));
      Append(message_, std::span<const float>(published()));
    }
    here.Offer(message_, peer);
  }

  void Handle(Endpoint& /*here*/, const Message& offer) override {
    double weight = 0;
    Unpacker(offer.bytes).Take(std::span(&weight, 1));
    const std::lock_guard lock(mutex());
    sum_.resize(published().size());
    AddScaled(sum_, static_cast<float>(weight), ValuesIn(offer, sizeof weight));
    received_ += weight;
  }

  /// (sum - received x) / (own + received), of what has come since the last step.
  bool TakeChange(std::vector<float>& change) override {
    if (received_ == 0) return false;
    const double own = weighted_ ? weight_ : 1, all = own + received_;
    change.assign(sum_.begin(), sum_.end());
    Scale(change, static_cast<float>(1 / all));
    AddScaled(change, static_cast<float>(-received_ / all), published());
    if (weighted_) weight_ = all;
    std::ranges::fill(sum_, 0.0F);
    received_ = 0;
    return true;
  }

 private:
  /// What has landed in Quiesce joins the values at once: nothing is left out of the model.
  void Merge() {
    if (alone()) return;
    const Values values(context().params.values(), published().size());
    std::vector<float> change;
    const std::lock_guard lock(mutex());
    PublishNow();
    if (TakeChange(change)) Add(values, change);
    context().params.Publish();
  }

  const bool weighted_;
  double weight_;
  std::vector<float> sum_;  // of weighted values received since the last step
  double received_ = 0;     // and of their weights
  std::vector<std::byte> message_;
};

}  // namespace

StrategyEntry gossip_push() {
  StrategyEntry entry = GossipEntry();
  entry.name = "gossip_push";
  entry.summary = "Each replica sends its values to a random other, which takes the mean";
  entry.options.push_back({.name = "weights",
                           .type = OptionType::kBool,
                           .fallback = false,
                           .help = "Replicas have weights, which are halved and sent with the "
                                   "values, so that the weighted mean is kept."});
  entry.estimate = [](const Options& options, const ExchangeSize& size) -> Cost {
    if (size.world == 1) return {};
    const double exchanges = size.world / static_cast<double>(options.Int("period"));
    return {.messages = exchanges,
            .message_bytes = exchanges * (8.0 + static_cast<double>(size.bytes))};
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<GossipPush>(options, context);
  };
  return entry;
}

}  // namespace yoke::strategy
