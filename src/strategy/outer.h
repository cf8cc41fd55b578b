// Outer: strategies whose replicas train alone for a period, and then take one outer step together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "strategy/outer_sum.h"
#include "strategy/sgp.h"

namespace yoke::strategy {

/// The state of an outer step: x_0, the values at which all replicas last met, and a momentum.
struct OuterState {
  Array<float> values;        ///< x_0 on entry; the new common values on return.
  Array<const float> change;  ///< The mean over the replicas of x_0 - x_i, the outer gradient.
  Array<float> momentum;      ///< Empty if the outer step has none.
  double learning_rate = 0;   ///< Of the last inner step.
};
using OuterStep = std::function<void(const OuterState&)>;

struct OuterSettings {
  int64_t period = 1;
  /// One step a period until the learning rate is first cut (post-local SGD).
  bool after_cut = false;
  int64_t fragments = 1;     ///< Parts of the weights that meet in turn.
  int64_t overlap = 0;       ///< Steps that an exchange runs beside; less than period / fragments.
  float mix = 0;             ///< Fraction of its own values that a replica keeps in a meeting.
  bool momentum = false;     ///< The outer step has one.
  bool resets_rule = false;  ///< The inner rule's state starts anew after an outer step.
  bool alone = true;         ///< A single replica takes outer steps too.
  OuterStep step = {};
  std::unique_ptr<Sgp> base = nullptr;  ///< Takes the inner steps; null: the rule alone.
};

/// Every rank takes `period` inner steps from common values x_0. Then
///   change = mean over the ranks of (x_0 - x_i),   x_0 <- outer step(x_0, change),
///   x_i <- (1 - mix) x_0 + mix x_i.
/// With fragments, each part of the weights has a period of its own; fragment f of F meets
/// (f + 1) period / F steps after the period's begin. With an overlap, the change is summed beside
/// training, and the outer step is taken so many steps after the change was sent.
/// The rule's state stays local. Running statistics meet with the last fragment and become the mean
/// over the ranks, mixed likewise. The change can be sent in compressed form. Between two meetings
/// the model is the mean of the replicas.
class Outer : public Strategy {
 public:
  Outer(const Options& options, const StrategyContext& context, OuterSettings settings);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  bool ExchangesBefore(const StrategyStep& /*step*/) const override { return HasBase(); }
  bool ExchangesAfter(const StrategyStep& step) const override;
  void Quiesce() override;
  Array<const float> Model() override;
  ExchangeCounts Counts() const override;
  Value State() const override;
  void Restore(const Value& state) override;
  bool UpdatesFirst() const override { return true; }
  std::vector<SavedTensor> Tensors() override;
  void Finish() override;
  Rescued Recover() override;

 private:
  /// A fragment's elements: a contiguous part of the weights, which begins and ends with a slice.
  struct Fragment {
    int64_t begin = 0, end = 0;
    Array<float> Of(Array<float> weights) const { return weights.Part(begin, end); }
  };

  bool Meets() const { return settings_.alone || context_.world.size() > 1; }
  void StepInside(const StrategyStep& step);
  bool IsLast() const { return fragment_ + 1 == settings_.fragments; }
  bool HasBase() const { return settings_.base != nullptr; }
  bool IsDue(const StrategyStep& step) const;
  bool IsCut(const StrategyStep& step) const;
  double HighestRate(const StrategyStep& step) const;
  void Send();
  void Take(double learning_rate);
  void MixIn(Array<float> own, Array<const float> common) const;
  void ResetRule();
  Array<float> Weights() const;

  StrategyContext context_;
  OuterSettings settings_;
  Update update_;
  RunningStatistics statistics_;
  std::vector<Fragment> fragments_;
  Buffer common_, momentum_, model_;  // common_ is x_0
  bool restored_ = false;
  int64_t since_ = 0;        // steps since the period began
  int64_t fragment_ = 0;     // the one that is under way, or meets next
  int64_t arrives_in_ = 0;   // steps; 0: none is under way
  double highest_rate_ = 0;  // so far
  bool cut_ = false;         // the rate has been
  int64_t updates_ = 0, examples_ = 0;
  OuterSum sum_;  // last: its thread ends first
};

/// The option period, or its default: `longest`, or a quarter of an epoch if that is less.
int64_t OuterPeriod(const Options& options, int64_t longest, int64_t steps_per_epoch);
/// An all-reduce of the model, possibly compressed and in fragments, every `period` steps.
Cost CostOfOuter(const Options& options, const ExchangeSize& size, int64_t period,
                 int64_t fragments = 1);
/// The common part of the entries, with the options period and compression; `longest` is for its
/// help.
StrategyEntry OuterEntry(const std::string& longest);

}  // namespace yoke::strategy
