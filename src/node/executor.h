// Executor: how one node's devices compute the gradient of one replica.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "model/graph.h"

namespace yoke {

/// What an executor works with; everything outlives it.
struct ExecutorContext {
  const Graph& graph;
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;
};

struct StepResult {
  double loss = 0;  ///< Mean over the batch.
  int64_t examples = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// True: Step updates the values itself for a round of examples; false: it writes
  /// params.gradients.
  virtual bool in_place() const { return false; }
  /// One batch on `params` (whose gradients are set). `ready` hears of each slice whose gradient is
  /// complete.
  virtual StepResult Step(const Batch& batch, const ParamView& params,
                          const GradientReady& ready) = 0;
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
