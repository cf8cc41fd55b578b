// Push gossip: rank i sends its values to a random rank; each takes the mean of its own and all
// that it has received, minus its step. Jin, Yuan, Iandola, Keutzer (2016, arXiv 1611.04581). The
// mean of the replicas drifts. With `weights` (GoSGD: Blot, Picard, Cord, Thome, 2016, arXiv
// 1611.09726) a rank has a weight w, 1/p at first; a sender halves its own and sends half; a
// receiver takes
//   x <- (w x + sum w' x') / (w + sum w'),   w <- w + sum w':
// the weighted mean is kept. Cost of a step of a rank: a message of |W| bytes, and an empty answer
// that says that it has been handled. A sender with kMostUnanswered messages under way waits, so
// that no queue grows on a link that is slower than the steps.
#include <algorithm>

#include "strategy/gossip.h"
#include "strategy/packing.h"
#include "strategy/sgp.h"

namespace yoke::strategy {
namespace {

class Push : public GossipExchange {
 public:
  static constexpr int kMostUnanswered = 4;

  /// With weights, `weight` is the rank's first one; 0: without.
  explicit Push(double weight) : weighted_(weight > 0), weight_(weighted_ ? weight : 1) {}

  bool MayBeUnderWay() const override { return true; }
  double* Weight() override { return weighted_ ? &weight_ : nullptr; }

  void Begin(Endpoint& here, int peer) override {
    AwaitUnanswered(here, kMostUnanswered - 1);
    message_.clear();
    {
      const std::lock_guard lock(mutex_);
      if (weighted_) weight_ /= 2;
      Append(message_, std::span<const double>(&weight_, 1));
      Append(message_, std::span<const float>(published()));
    }
    here.world().Charge(CostOfMemoryCopy(std::ssize(message_) / int64_t{sizeof(float)}));
    here.Offer(message_, peer, sizeof(double));
    ++unanswered_;
  }

  /// An empty message is an answer.
  void Handle(Endpoint& here, Message offer) override {
    if (offer.bytes.empty()) {
      --unanswered_;
      return;
    }
    Receive(offer);
    here.Offer({}, offer.source);
  }

  void AwaitAnswers(Endpoint& here) override { AwaitUnanswered(here, 0); }

 protected:
  /// (sum - received x) / (own + received)
  bool Take(std::vector<float>& change) override {
    if (received_ == 0) return false;
    const double all = weight_ + received_;
    change = sum_;
    AddScaled(change, static_cast<float>(-received_), published());
    Scale(change, static_cast<float>(1 / all));
    if (weighted_) weight_ = all;
    std::ranges::fill(sum_, 0.0F);
    received_ = 0;
    return true;
  }

 private:
  void AwaitUnanswered(Endpoint& here, int most) {
    here.HandleOffersUntil([this, most] { return unanswered_ <= most; });
  }

  void Receive(const Message& offer) {
    const auto weight = Unpacker(offer.bytes).Take<double>();
    const std::lock_guard lock(mutex_);
    sum_.resize(published().size());
    AddScaled(sum_, static_cast<float>(weight), ValuesIn(offer, sum_.size(), sizeof weight));
    received_ += weight;
  }

  const bool weighted_;
  double weight_;           // without weights: 1
  std::vector<float> sum_;  // of weighted values received since the last step
  double received_ = 0;     // and of their weights
  std::vector<std::byte> message_;
  int unanswered_ = 0;  // messages of this rank, on the side thread
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
    Cost cost = CostOfPushes(size, ExchangesPerStep(options));
    cost.messages *= 2;  // with the answers
    return cost;
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    const double weight = options.Bool("weights") ? 1.0 / context.world.size() : 0;
    return std::make_unique<Gossip>(options, context, std::make_unique<Push>(weight));
  };
  return entry;
}

}  // namespace yoke::strategy
