// ElasticServer: elastic averaging with a centre that rank 0's side threads serve, one worker at a
// time or without a lock (You, Buluç, Demmel, SC17, arXiv 1708.02983).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "strategy/elastic.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// In which order the centre meets the workers.
enum class ElasticOrder {
  kInTurn,     ///< By rank: a rank waits for its turn and trains in it, while the others wait.
  kFirstCome,  ///< In the order of arrival, beside the gradient.
  kNoLock,     ///< One thread a worker, all at once, beside the gradient.
};

/// Rank i has a replica W_i, and rank 0 also the centre W, which is the model. Every `period`
/// steps, with W_i from before the step and W as it is when the worker is served:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + E_i.
/// W's running statistics move by 1 / ranks towards the worker's. A single rank has no centre.
///
/// kInTurn: in its turn a rank receives W, computes its gradient and sends W_i. In the form
/// "overlapped" it sends W_i at once, and computes its gradient in the turns of the others.
///
/// kNoLock: races on W are harmless, because each element is read and written whole, and what is
/// lost is at most one of two moves of an element that happen at once (optim/racing.h).
class ElasticServer : public Strategy {
 public:
  ElasticServer(const Options& options, const StrategyContext& context, ElasticOrder order);

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
  using Endpoint = SideThread::Endpoint;
  enum Tag : int { kCentre, kForce };

  bool Exchanges() const { return context_.world.size() > 1; }
  int64_t BytesOfModel() const { return size_ * SizeOf(DType::kF32); }
  bool Serves() const { return context_.world.rank() == 0; }
  SideThread& thread() const { return *threads_[threads_.size() == 1 ? 0 : context_.world.rank()]; }
  bool InTurn() const { return order_ == ElasticOrder::kInTurn; }
  void Exchange(Endpoint& here);
  void AwaitTurn(Endpoint& here);
  void EndTurn(Endpoint& here);
  void Handle(Endpoint& here, const Message& offer);
  void HandleInTurn(const Communicator& world, const Message& offer);
  void GiveTurn(const Communicator& world);
  void PassTurn(const Communicator& world);
  void OfferReplica(Endpoint& here);
  void Meet(const Communicator& world, ConstValues offered, std::vector<float>& force);
  void MeetRacing(ConstValues replica, float rate, std::vector<float>& force);
  float RateOf(ConstValues offered) const {
    return rate_.follows_learning_rate() ? offered.back() : moving_rate_;
  }
  Values Weights(Values packed) const { return packed.first(weights_); }

  StrategyContext context_;
  const ElasticOrder order_;
  const bool trains_in_turn_;  // not only exchanges
  const ElasticRate rate_;
  const float moving_rate_;  // without rho
  const int64_t period_;
  const int64_t size_, weights_;  // all elements, and those before the running statistics
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> centre_;  // on rank 0
  std::vector<float> own_;     // W_i before the step, and with rho the step's a behind it
  std::vector<float> force_;   // E_i
  std::vector<bool> waiting_;  // for its turn, by rank
  int turn_ = 0;               // whose turn is next,
  bool turn_begun_ = false;    // or is under way
  bool restored_ = false, under_way_ = false;
  int64_t steps_ = 0, examples_ = 0;
  std::atomic<int64_t> meetings_ = 0;                 // of the centre, which rank 0's threads count
  double seconds_copying_ = 0;                        // between host and device
  std::vector<std::unique_ptr<SideThread>> threads_;  // last: they end first
};

/// The common part of the entries.
StrategyEntry ElasticServerEntry(ElasticOrder order);

}  // namespace yoke::strategy
