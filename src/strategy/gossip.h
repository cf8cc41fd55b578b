// Gossip: strategies in which each rank exchanges with one random other rank at a time.
#pragma once

#include <mutex>
#include <vector>

#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// Rank i has values x_i and a rule's state of its own. Every `period` steps it begins an exchange
/// at its values from before the step, while the gradient is computed at the same values; the step
/// applies both. Peers are drawn from the seed. The model is the mean of the replicas.
class Gossip : public Strategy {
 public:
  Gossip(const Options& options, const StrategyContext& context);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  void Quiesce() override;
  const float* Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  void Finish() override;
  Rescued Recover() override;

 protected:
  using Endpoint = SideThread::Endpoint;

  /// On the side thread: begins the exchange of a step, with this rank.
  virtual void Exchange(Endpoint& here, int peer) = 0;
  /// On the side thread: another rank's message.
  virtual void Handle(Endpoint& here, const Message& offer) = 0;
  /// On the training thread, under the mutex: turns `values()` into the change that what was
  /// received makes to the values from before the step; false: none.
  virtual bool TakeChange(std::vector<float>& change) = 0;
  /// Whether offers may still be under way when all ranks' jobs are done.
  virtual bool OffersNeedNoAnswer() const { return false; }

  const StrategyContext& context() const { return context_; }
  bool alone() const { return context_.world.size() == 1; }
  /// The values from before the current step, for the side thread to send. Under the mutex.
  const std::vector<float>& published() const { return published_; }
  void PublishNow();
  std::mutex& mutex() { return mutex_; }
  /// The elements of a message. Throws Error if its size is not the model's.
  ConstValues ValuesIn(const Message& message, size_t header = 0) const;

 private:
  int DrawPeer();
  void AwaitOffers();

  StrategyContext context_;
  const int64_t period_;
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> published_, change_, model_;
  std::vector<int64_t> offered_;  // by rank, since the start
  int64_t steps_ = 0, drawn_ = 0;
  int64_t handled_ = 0;  // offers, on the side thread
  std::mutex mutex_;
  SideThread thread_;  // last: it ends first
};

/// The common part of the entries.
StrategyEntry GossipEntry();

}  // namespace yoke::strategy
