// Synchronous elastic averaging, three times (You, Buluç, Demmel, SC17): they differ in the memory
// of the centre, and in whether training waits for the exchange.
#include <utility>

#include "strategy/elastic.h"
#include "strategy/side_thread.h"

namespace yoke::strategy {
namespace {

/// The side thread exchanges while the gradient is computed. It needs the values from before the
/// step alone, so that nothing is stale.
class EasgdSync3 : public Elastic {
 public:
  EasgdSync3(const Options& options, const StrategyContext& context)
      : Elastic(options, context, ElasticMemory::kOfValues),
        thread_(context.world, nullptr, *context.params.values().device) {}

  void Prepare() override {
    Elastic::Prepare();
    if (Exchanges()) thread_.Begin();
  }
  ParamView View(const StrategyStep& step) override {
    Complete();  // of a step that was given up
    return Elastic::View(step);
  }
  void Quiesce() override { Complete(); }
  void Finish() override {
    Complete();
    thread_.Finish();
  }
  Rescued Recover() override {
    thread_.Abandon();
    return Elastic::Recover();
  }

 protected:
  void Begin() override {
    thread_.Do([this](SideThread::Endpoint& here) { Exchange(here.world()); });
    under_way_ = true;
  }
  void Complete() override {
    if (!std::exchange(under_way_, false)) return;
    const double began = context().world.Now();
    thread_.Wait();
    CountWaits(began);
  }

 private:
  bool under_way_ = false;
  SideThread thread_;  // last: it ends first
};

}  // namespace

/// The exchange comes before the gradient, in the CPU's memory, and training waits for it.
StrategyEntry easgd_sync1() {
  StrategyEntry entry = SynchronousElasticEntry();
  entry.name = "easgd_sync1";
  entry.summary =
      "Replicas and a centre pull each other, exchanged over trees before each gradient";
  entry.options.push_back({.name = "packed",
                           .type = OptionType::kBool,
                           .fallback = true,
                           .help = "Send the model as one message, not one per parameter."});
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return ElasticCost(options, size, options.Bool("packed") ? 1 : size.slices);
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Elastic>(options, context, ElasticMemory::kHost,
                                     options.Bool("packed"));
  };
  return entry;
}

/// Centre and replicas stay in the memory of the device that computes with them.
StrategyEntry easgd_sync2() {
  StrategyEntry entry = SynchronousElasticEntry();
  entry.name = "easgd_sync2";
  entry.summary = "easgd_sync1 with the centre on the weights' device";
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Elastic>(options, context, ElasticMemory::kOfValues);
  };
  return entry;
}

/// The exchange is done beside the gradient.
StrategyEntry easgd_sync3() {
  StrategyEntry entry = SynchronousElasticEntry();
  entry.name = "easgd_sync3";
  entry.summary = "easgd_sync2 with the exchange overlapped with the gradient's computation";
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<EasgdSync3>(options, context);
  };
  return entry;
}

}  // namespace yoke::strategy
