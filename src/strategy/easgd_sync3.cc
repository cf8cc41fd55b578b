// Synchronous elastic averaging, the third: a thread beside the training one exchanges while the
// gradient is computed. It needs the values from before the step alone, so that nothing is stale.
#include <exception>
#include <utility>

#include "strategy/elastic.h"
#include "strategy/receive_without_timeout.h"

namespace yoke::strategy {
namespace {

class EasgdSync3 : public Elastic {
 public:
  EasgdSync3(const Options& options, const StrategyContext& context)
      : Elastic(options, context, ElasticMemory::kOfValues), channel_(context.world.Duplicate()) {}
  ~EasgdSync3() override {
    if (std::uncaught_exceptions() == 0) End();
  }
  EasgdSync3(const EasgdSync3&) = delete;
  EasgdSync3& operator=(const EasgdSync3&) = delete;

  void Prepare() override {
    Elastic::Prepare();
    if (Exchanges())
      thread_ = context().world.Spawn([this](const Communicator& own) { Serve(own); });
  }
  ParamView View(const StrategyStep& step) override {
    Complete();  // of a step that was given up
    return Elastic::View(step);
  }
  void Quiesce() override { Complete(); }
  void Finish() override {
    Complete();
    End();
  }
  Rescued Recover() override {
    thread_.reset();
    return Elastic::Recover();
  }

 protected:
  void Begin() override {
    Tell(kExchange);
    under_way_ = true;
  }
  void Complete() override {
    if (!std::exchange(under_way_, false)) return;
    const double began = context().world.Now();
    ReceiveWithoutTimeout(channel_, context().world.rank(), kDone);
    CountWaits(began);
  }

 private:
  enum Tag : int { kOrders, kDone };
  enum Order : char { kExchange, kEnd };

  void Tell(Order order) {
    channel_.Send(std::as_bytes(std::span(&order, 1)), context().world.rank(), kOrders);
  }
  void End() {
    if (thread_) Tell(kEnd);
    thread_.reset();
  }
  void Serve(const Communicator& own) {
    const Communicator channel = channel_.For(own);
    const auto order = [&channel] {
      return static_cast<Order>(ReceiveWithoutTimeout(channel, channel.rank(), kOrders).bytes[0]);
    };
    while (order() == kExchange) {
      Exchange(own);
      channel.Send({}, channel.rank(), kDone);
    }
  }

  Communicator channel_;  // between the two threads of a rank
  bool under_way_ = false;
  std::shared_ptr<void> thread_;  // last: it ends first
};

}  // namespace

StrategyEntry easgd_sync3() {
  StrategyEntry entry = ElasticEntry();
  entry.name = "easgd_sync3";
  entry.summary = "easgd_sync2 with the exchange overlapped with the gradient's computation";
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<EasgdSync3>(options, context);
  };
  return entry;
}

}  // namespace yoke::strategy
