// Elastic: common implementation of synchronous elastic averaging (You, Buluç, Demmel, SC17, arXiv
// 1708.02983): replicas are pulled to a centre, and the centre to them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// The memory of the centre, the force and the exchanged buffers.
enum class ElasticMemory {
  kHost,      ///< The CPU's: values are copied from their device, and forces back.
  kOfValues,  ///< That of the values: only the network reads there, if it can.
};

/// The a of an exchange: the option moving_rate, or 0.9 / ranks; with the option rho it is rho
/// times the step's learning rate. Throws UserError if ranks times it is above 1.
class ElasticRate {
 public:
  ElasticRate(const Options& options, int ranks);
  bool follows_learning_rate() const { return rho_ > 0; }
  float constant() const { return static_cast<float>(constant_); }  ///< Without rho.
  float At(const StrategyStep& step) const;

 private:
  std::string where_;  // the key of rho
  double rho_;
  double constant_;
  int ranks_;
};
/// The constant a, or 0.9 / ranks; with rho, which needs a learning rate, that too.
double MovingRate(const Options& options, int ranks);

/// Rank i has a replica W_i, and rank 0 the centre W, which is the model. Every `period` steps,
/// with all values from before the step:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + a sum_i (W_i - W).
/// Running statistics are not pulled: the centre has the mean of the replicas' statistics. A single
/// rank has no centre and takes the rule's steps.
///
/// With `centre_everywhere` every rank has W and moves it by the same sum: an all-reduce of the W_i
/// replaces the broadcast of W and the reduction to rank 0.
class Elastic : public Strategy {
 public:
  /// `packed`: send the model as one message; otherwise slice by slice.
  Elastic(const Options& options, const StrategyContext& context, ElasticMemory memory,
          bool packed = true);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  bool UpdatesFirst() const override { return true; }
  void Step(const StrategyStep& step) override;
  bool ExchangesBefore(const StrategyStep& step) const override { return IsDue(step); }
  bool ExchangesAfter(const StrategyStep& step) const override { return IsDue(step); }
  Array<const float> Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  std::vector<SavedTensor> Tensors() override;
  Rescued Recover() override { return {.values = IsCentre() ? Model() : Array<const float>()}; }

 protected:
  /// Starts the exchange of a step whose W_i have been copied.
  virtual void Begin();
  /// Waits for the end of the exchange.
  virtual void Complete() {}
  /// Broadcasts W, computes the force, sums the W_i and moves the centre. Uses only its own
  /// buffers.
  void Exchange(const Communicator& world);
  /// Counts how long the training thread has waited for messages of the last exchange, which is
  /// over: the arithmetic does not count, nor does what came before `began`.
  void CountWaits(double began);
  bool Exchanges() const { return context_.world.size() > 1; }
  bool IsDue(const StrategyStep& step) const {
    return Exchanges() && (step.step + 1) % period_ == 0;
  }
  const StrategyContext& context() const { return context_; }

 private:
  using Piece = std::pair<int64_t, int64_t>;  // offset and count

  bool IsCentre() const { return Exchanges() && context_.world.rank() == 0; }
  bool HasCentre() const { return IsCentre() || (Exchanges() && everywhere_); }
  Array<float> force() const { return AllOf<float>(HasCentre() ? centre_force_ : centre_); }
  static Array<float> Part(Array<float> all, const Piece& piece) {
    return all.Part(piece.first, piece.first + piece.second);
  }
  struct Wait {
    double ended = 0;
    double seconds = 0;
  };
  template <typename Operation>
  void Await(const Communicator& world, const Operation& operation);
  void Allocate();
  void Broadcast(const Communicator& world, Array<float> centre) const;
  void Sum(const Communicator& world, Array<float> own) const;
  void ChargeHostCopy();
  void MoveCentre(const Communicator& world);
  void AddForce();

  StrategyContext context_;
  ElasticRate rate_;
  float moving_rate_ = 0;  // of the step
  int64_t period_ = 1;
  bool everywhere_ = false;         // every rank has the centre
  int64_t size_ = 0, weights_ = 0;  // all elements, and those before the running statistics
  Update update_;
  RunningStatistics statistics_;
  std::vector<Piece> messages_;  // the pieces sent as one message each
  bool in_host_;                 // all buffers but pull_
  Buffer own_;                   // W_i before the step; their sum after the exchange, where W is
  Buffer centre_;                // W; where it is only received, then the force
  Buffer centre_force_;          // where W is kept
  Buffer pull_;                  // the force in the values' memory, if that is another
  bool restored_ = false;
  bool due_ = false;
  std::vector<Wait> waits_;  // for messages of the last exchange
  Traffic traffic_ = {};     // written, as waits_, by the thread that exchanges
  ExchangeCounts counts_ = {};
};

/// The common part of the entries of elastic strategies.
StrategyEntry ElasticEntry();
/// The same of synchronous ones.
StrategyEntry SynchronousElasticEntry();
/// Cost of a broadcast and a reduce, or of an all-reduce, with this many messages for one, every
/// `period` steps.
Cost ElasticCost(const Options& options, const ExchangeSize& size, int64_t messages = 1);

}  // namespace yoke::strategy
