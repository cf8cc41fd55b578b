// Sgp: stochastic gradient push, alone or between the slow steps of slowmo.
#pragma once

#include <vector>

#include "strategy/replicas.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"
#include "tensor/array.h"

namespace yoke::strategy {

struct SgpSettings {
  int64_t period = 1;     ///< Steps between pushes.
  bool overlaps = false;  ///< What arrives is used one step later.
};

/// Push-sum over a directed graph whose peers change from push to push (Assran, Loizou, Ballas,
/// Rabbat, "Stochastic Gradient Push for Distributed Deep Learning", 2019, arXiv 1811.10792). Rank
/// i has values x_i and a weight w_i, 1 at first. A step:
///   z_i = x_i / w_i,   x_i <- (the rule's step from x_i with the gradient at z_i),
/// and push k, after every `period` steps:
///   half of (x_i, w_i) goes to rank i + 2^(k mod (floor(log2(n - 1)) + 1)), what arrives is added.
class Sgp : public Strategy {
 public:
  Sgp(const SgpSettings& settings, const StrategyContext& context);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  bool UpdatesFirst() const override { return true; }
  void Step(const StrategyStep& step) override;
  /// Takes what is under way to this rank, so that the sums of x_i and w_i over the ranks are
  /// complete. The next View takes it back, to be used when it is due.
  void Quiesce() override;
  /// The sum of the weights is the number of ranks.
  Array<const float> Model() override {
    return MeanOfReplicas(context_.world, context_.params, model_);
  }
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  std::vector<SavedTensor> Tensors() override;
  void Finish() override;
  Rescued Recover() override;

  /// After Quiesce, when all ranks have been given the same values: starts anew from them.
  void StartAnew() { weight_ = 1, under_way_ = taken_early_ = false; }

 private:
  static constexpr int kHalf = 0;  // tag

  bool alone() const { return context_.world.size() == 1; }
  Array<float> All() const { return context_.params.values(); }
  Array<float> Half() const;  ///< What has arrived, where the values lie.
  void Push();
  void Land();
  void TakeBack();

  StrategyContext context_;
  const SgpSettings settings_;
  Update update_;
  RunningStatistics statistics_;
  double weight_ = 1;
  int64_t steps_ = 0;
  bool copied_ = false;
  bool under_way_ = false;    // a message, or arrived and not yet due
  bool taken_early_ = false;  // by Quiesce
  Buffer copy_;               // z_i; x_i before Quiesce if it took something early
  Buffer half_, model_;       // what has arrived, on a device
  double half_weight_ = 0, weight_before_ = 1;
  Buffer leaving_, arriving_;  // messages in the host's memory: a weight, and half of the values
  std::shared_ptr<Event> copied_out_;
  SideThread thread_;  // last: it ends first
};

/// So many messages of each rank in a step, with its values and a weight.
Cost CostOfPushes(const ExchangeSize& size, double pushes_per_step);

}  // namespace yoke::strategy
