// Executor: how one node's devices work on one replica: they compute a gradient, or update in
// place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/topology.h"
#include "model/graph.h"
#include "optim/rule.h"
#include "params/head.h"

namespace yoke {

/// What an executor works with; everything outlives it.
struct ExecutorContext {
  const Graph& graph;
  int64_t batch = 0;  ///< Examples of most steps; an epoch's last one may have fewer.
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;
  ThreadPlan threads = {};  ///< Threads that compute, and where. The caller's own are those it set.
  /// Lent to an executor that updates in place; others leave them alone (and may get none).
  const UpdateRule* rule = nullptr;
  RuleState* state = nullptr;
  double clip_norm = 0;  ///< Longest gradient of an update; 0: no limit.
};

/// What holds for one step.
struct ExecutorStep {
  GradientReady ready = {};  ///< Hears of each slice whose gradient is complete; may be empty.
  double learning_rate = 0;  ///< For updates in place.
  Head* head = nullptr;      ///< Computes the graph's head elsewhere; null: the graph is whole. Not
                             ///< given to an executor that updates in place.
};

struct StepResult {
  double loss = 0;  ///< Mean over the batch.
  int64_t examples = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// True: Step updates the values itself (and counts the updates in the rule's state) for a round
  /// of examples, and strategies only exchange; false: it writes params.gradients.
  virtual bool in_place() const { return false; }
  /// One batch on `params` (whose gradients are set). In place, updates stop at the first loss that
  /// is not finite, which is then the result's.
  virtual StepResult Step(const Batch& batch, const ParamView& params,
                          const ExecutorStep& step) = 0;
  /// After a loss that is not finite: the layer where it began, or "".
  virtual std::string FirstNonFinite() const { return ""; }
  /// What must be kept in a checkpoint to go on identically (a table), and its return.
  virtual Value State() const { return Value(Table{}); }
  virtual void Restore(const Value& /*state*/) {}
};

struct ExecutorEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [node] that belong to this executor.
  std::unique_ptr<Executor> (*make)(const Options& options, const ExecutorContext& context);
};
const std::vector<ExecutorEntry>& executors();

}  // namespace yoke
