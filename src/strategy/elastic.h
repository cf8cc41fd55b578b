// Elastic: what the synchronous elastic strategies share (You, Buluç, Demmel, SC17, arXiv
// 1708.02983): replicas that are drawn to a centre, and a centre that is drawn to them.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "strategy/strategy.h"

namespace yoke::strategy {

/// Where the centre, the force and what is exchanged lie.
enum class ElasticMemory {
  kHost,      ///< The CPU's: values cross from their device, and forces go back.
  kOfValues,  ///< That of the values: nothing crosses but what the network takes from there.
};

/// Rank i has a replica W_i, rank 0 the centre W, which is the model. Every `period` steps, all of
/// it with the values from before the step:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + a sum_i (W_i - W).
/// Running statistics are not drawn: the centre's are the mean of the replicas'. One rank alone has
/// no centre beside it and takes the rule's steps.
class Elastic : public Strategy {
 public:
  /// `packed`: the model travels as one message, else slice after slice.
  Elastic(const Options& options, const StrategyContext& context, ElasticMemory memory,
          bool packed = true);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  const float* Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  std::vector<KeptTensor> Tensors() override;
  Rescued Recover() override { return {.values = IsCentre() ? Model() : nullptr}; }

 protected:
  /// Begins the exchange of a step whose W_i have been copied.
  virtual void Begin();
  /// Returns when the exchange that has begun is over.
  virtual void Complete() {}
  /// Broadcast of W, the force, the sum of W_i, the centre's move. Touches own buffers alone.
  void Exchange(const Communicator& world);
  /// Counts how long the training thread has waited for messages of the last exchange, which is
  /// over: the arithmetic does not count, nor does what came before `began`.
  void CountWaits(double began);
  bool Exchanges() const { return context_.world.size() > 1; }
  const StrategyContext& context() const { return context_; }

 private:
  using Piece = std::pair<int64_t, int64_t>;  // offset and count

  bool IsCentre() const { return Exchanges() && context_.world.rank() == 0; }
  float* force() const { return (IsCentre() ? centre_force_ : centre_).As<float>(); }
  std::span<float> Part(const Buffer& buffer, const Piece& piece) const {
    return {buffer.As<float>() + piece.first, static_cast<size_t>(piece.second)};
  }
  struct Wait {
    double ended = 0;
    double seconds = 0;
  };
  template <typename Operation>
  void Await(const Communicator& world, const Operation& operation);
  void Allocate();
  void CopyValues(const Buffer& to);
  void MoveCentre(const Communicator& world);
  void AddForce();

  StrategyContext context_;
  double moving_rate_ = 0;
  int64_t period_ = 1;
  int64_t size_ = 0, weights_ = 0;  // all numbers, and those before the running statistics
  std::vector<Piece> messages_;     // what is exchanged at a time
  Device& device_;                  // where the values lie
  Device& memory_;                  // where the other buffers do
  std::unique_ptr<Stream> value_work_, work_;
  Buffer own_;                // W_i of before the step; on rank 0 their sum after the exchange
  Buffer centre_;             // on rank 0 W; elsewhere W as it came, then the force
  Buffer centre_force_;       // on rank 0
  Buffer landed_force_;       // beside the values, where the other buffers are elsewhere
  std::vector<float> model_;  // of a centre that the CPU cannot read
  bool restored_ = false;
  bool due_ = false;
  std::vector<Wait> waits_;  // for messages of the last exchange
  Traffic traffic_ = {};     // written, as waits_, by the thread that exchanges
  ExchangeCounts counts_ = {};
};

/// What the entries of the synchronous elastic strategies have in common.
StrategyEntry ElasticEntry();
/// The price of a broadcast and a reduce of so many messages each, every `period` steps.
Cost ElasticCost(const Options& options, const ExchangeSize& size, int64_t messages = 1);

}  // namespace yoke::strategy
