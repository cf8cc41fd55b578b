// Strategy: what replicas exchange, and when.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cost.h"
#include "base/options.h"
#include "optim/rule.h"
#include "params/store.h"

namespace yoke {

/// What the Trainer lends a strategy; everything outlives it. The strategy is the one writer of
/// `params` unless the executor updates in place.
struct StrategyContext {
  ParamStore& params;
  Gradients& gradients;
  const UpdateRule& rule;
  RuleState& state;
  double clip_norm = 0;
};

/// What holds for one step.
struct StrategyStep {
  int64_t step = 0;  ///< Steps done before this one.
  double learning_rate = 0;
  int64_t examples = 0;  ///< Examples behind the gradient of this replica.
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual void Prepare() {}
  /// Before each step: where the gradient is taken.
  virtual ParamView View(int64_t step) = 0;
  /// A slice's gradient is complete: only enqueues.
  virtual void GradientReady(int /*slice*/) {}
  /// After the gradient is complete: exchanges and updates.
  virtual void Step(const StrategyStep& step) = 0;
  /// Messages in flight land (before a checkpoint or an evaluation).
  virtual void Quiesce() {}
  /// The packed values that are "the model".
  virtual const float* Model() = 0;
  /// The exact part of a checkpoint (a table), and its return.
  virtual Value State() const { return Value(Table{}); }
  virtual void Restore(const Value& /*state*/) {}
  virtual void Finish() {}
};

struct StrategyEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [cluster] that belong to this strategy.
  bool deterministic = false;       ///< Same seed and world: bit-identical.
  /// Empty when it can run with these many replicas, else the reason it cannot, as a sentence.
  std::string (*supports)(int world);
  /// Cost of exchanging one step of a model of `bytes` among `world` replicas, for one of them.
  Cost (*estimate)(int64_t bytes, int world);
  std::unique_ptr<Strategy> (*make)(const Options& options, const StrategyContext& context);
};
const std::vector<StrategyEntry>& strategies();

}  // namespace yoke
