// Outer: strategies whose replicas train alone for a period, and then take one outer step together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategy/compressed_sum.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {

/// The state of an outer step: x_0, the values at which all replicas last met, and a momentum.
struct OuterState {
  Values values;             ///< x_0 on entry; the new common values on return.
  ConstValues change;        ///< The mean over the replicas of x_0 - x_i, the outer gradient.
  Values momentum;           ///< Empty if the outer step has none.
  double learning_rate = 0;  ///< Of the last inner step.
};
using OuterStep = std::function<void(const OuterState&)>;

struct OuterSettings {
  int64_t period = 1;
  /// One step a period until the learning rate is first cut (post-local SGD).
  bool after_cut = false;
  bool momentum = false;     ///< The outer step has one.
  bool resets_rule = false;  ///< The inner rule's state starts anew after an outer step.
  bool alone = true;         ///< A single replica takes outer steps too.
  OuterStep step = {};
};

/// Every rank takes `period` steps of the rule from common values x_0. Then
///   change = mean over the ranks of (x_0 - x_i),   x_0 <- outer step(x_0, change),   x_i <- x_0.
/// The rule's state stays local. Running statistics become the mean over the ranks. The change can
/// be sent in compressed form. Between two meetings the model is the mean of the replicas.
class Outer : public Strategy {
 public:
  Outer(const Options& options, const StrategyContext& context, OuterSettings settings);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  const float* Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  std::vector<KeptTensor> Tensors() override;

 private:
  bool Meets() const { return settings_.alone || context_.world.size() > 1; }
  bool IsDue(const StrategyStep& step);
  void Meet(double learning_rate);
  void ResetRule();
  Values Weights() const;

  StrategyContext context_;
  OuterSettings settings_;
  Compressor compressor_;
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> common_, momentum_, change_, model_;
  bool restored_ = false;
  int64_t since_ = 0;        // steps since the last meeting
  double highest_rate_ = 0;  // so far
  bool cut_ = false;         // the rate has been
  int64_t updates_ = 0, examples_ = 0;
};

/// The option period, or its default: `longest`, or a quarter of an epoch if that is less.
int64_t OuterPeriod(const Options& options, int64_t longest, int64_t steps_per_epoch);
/// An all-reduce of the model, possibly compressed, every `period` steps.
Cost CostOfOuter(const Options& options, const ExchangeSize& size, int64_t period);
/// The common part of the entries, with the options period and compression; `longest` is for its
/// help.
StrategyEntry OuterEntry(const std::string& longest);

}  // namespace yoke::strategy
