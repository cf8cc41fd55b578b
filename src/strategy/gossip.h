// Gossip: strategies in which each rank exchanges with one random other rank at a time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "strategy/replicas.h"
#include "strategy/side_thread.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// What two ranks exchange. The side thread calls Begin and Handle; the lock is held for moments.
class GossipExchange {
 public:
  using Endpoint = SideThread::Endpoint;

  virtual ~GossipExchange() = default;
  /// A rank's values from before its current step.
  void Publish(ConstValues values);
  /// In a job: the exchange that this rank begins with `peer`.
  virtual void Begin(Endpoint& here, int peer) = 0;
  /// A message of another rank.
  virtual void Handle(Endpoint& here, Message offer) = 0;
  /// Writes what has been received since the last call, as a change of the published values; false:
  /// nothing.
  bool TakeChange(std::vector<float>& change);
  /// Whether messages may still be under way when all ranks' jobs are done.
  virtual bool MayBeUnderWay() const { return false; }
  /// Then, in a job: waits until the others have handled all that this rank has sent them.
  virtual void AwaitAnswers(Endpoint& /*here*/) {}
  /// This rank's weight, which its checkpoint keeps; null: all weigh the same.
  virtual double* Weight() { return nullptr; }

 protected:
  /// Under the lock.
  virtual bool Take(std::vector<float>& change) = 0;
  const std::vector<float>& published() const { return published_; }

  std::mutex mutex_;

 private:
  std::vector<float> published_;
};

/// Rank i has its own values x_i and rule state. Every `period` steps it begins an exchange, with
/// the given probability, at its values from before the step, while the gradient is computed at the
/// same values; the step applies both. Peers are drawn from the seed. The model is the mean of the
/// replicas, weighted if they have weights.
class Gossip : public Strategy {
 public:
  Gossip(const Options& options, const StrategyContext& context,
         std::unique_ptr<GossipExchange> exchange);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  void Quiesce() override;
  Array<const float> Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  std::vector<SavedTensor> Tensors() override;
  void Finish() override;
  Rescued Recover() override;

 private:
  bool alone() const { return context_.world.size() == 1; }
  Values All() const { return AllValues(context_.params); }
  bool DrawsExchange() const;
  int DrawPeer();
  void TakeIn();

  StrategyContext context_;
  const int64_t period_;
  const double probability_;
  Update update_;
  std::unique_ptr<GossipExchange> exchange_;
  std::vector<float> change_;
  Buffer model_;
  int64_t steps_ = 0, drawn_ = 0;
  SideThread thread_;  // last: it ends first
};

/// Exchanges that a rank begins, per step.
double ExchangesPerStep(const Options& options);
/// The common part of the entries.
StrategyEntry GossipEntry();

}  // namespace yoke::strategy
