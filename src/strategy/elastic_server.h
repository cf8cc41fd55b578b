// ElasticServer: elastic averaging with a centre that rank 0's side threads serve, one worker at a
// time or without a lock (You, Buluç, Demmel, SC17, arXiv 1708.02983).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// In which order the centre meets the workers.
enum class ElasticOrder {
  kRoundRobin,  ///< By rank, and training waits for its turn.
  kFirstCome,   ///< In the order of arrival, beside the gradient.
  kNoLock,      ///< One thread a worker, all at once, beside the gradient.
};

/// Rank i has a replica W_i, and rank 0 also the centre W, which is the model. Every `period`
/// steps, with W_i from before the step and W as it is when the worker is served:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + E_i.
/// W's running statistics move by 1 / ranks towards the worker's. A single rank has no centre.
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
  enum Tag : int { kCentre, kReplica, kForce };

  bool Exchanges() const { return context_.world.size() > 1; }
  int64_t BytesOfModel() const { return size_ * SizeOf(DType::kF32); }
  bool Serves() const { return context_.world.rank() == 0; }
  SideThread& thread() const { return *threads_[threads_.size() == 1 ? 0 : context_.world.rank()]; }
  void Exchange(Endpoint& here);
  void TakeTurn(Endpoint& here);
  void Handle(Endpoint& here, const Message& offer);
  void ServeInTurn(Endpoint& here);
  void Meet(const Communicator& world, ConstValues replica, std::vector<float>& force);
  void MeetRacing(ConstValues replica, std::vector<float>& force);
  Values Weights(Values packed) const { return packed.first(weights_); }

  StrategyContext context_;
  const ElasticOrder order_;
  const float moving_rate_;
  const int64_t period_;
  const int64_t size_, weights_;  // all elements, and those before the running statistics
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> centre_;  // on rank 0
  std::vector<float> own_;     // W_i before the step
  std::vector<float> force_;   // E_i
  std::vector<bool> waiting_;  // for its turn, by rank
  int turn_ = 0;               // whose turn it is
  bool restored_ = false, under_way_ = false;
  int64_t steps_ = 0, examples_ = 0;
  std::atomic<int64_t> meetings_ = 0;                 // of the centre, which rank 0's threads count
  double seconds_copying_ = 0;                        // between host and device
  std::vector<std::unique_ptr<SideThread>> threads_;  // last: they end first
};

/// The common part of the entries.
StrategyEntry ElasticServerEntry(ElasticOrder order);

}  // namespace yoke::strategy
