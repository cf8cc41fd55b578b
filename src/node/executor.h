// Executor: how the devices of one node work on one replica. They compute a gradient or update the
// values in place.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/topology.h"
#include "comm/communicator.h"
#include "comm/virtual_time.h"
#include "model/graph.h"
#include "node/device_usage.h"
#include "node/estimate.h"
#include "optim/rule.h"
#include "params/head.h"

namespace yoke {

/// The environment of an executor; everything in it outlives the executor.
struct ExecutorContext {
  const Graph& graph;
  int64_t batch = 0;  ///< train.batch: the examples of most steps, unless step_examples says more.
  int64_t step_examples = 0;  ///< Of most steps; 0: `batch`.
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;  ///< Target::reference.
  std::vector<Device*> devices = {&Cpu()};
  double device_timeout = 60;  ///< Seconds that one of several devices may take for a batch.
  /// Holds values, gradients and the rule's state: the CPU, or the only device.
  Device* values_device = &Cpu();
  /// The computing threads and their cores. The caller has already set its own.
  ThreadPlan threads = {};
  /// Of this rank alone, for an executor's own workers: a virtual world, in which they are tasks.
  /// Empty: they are threads.
  std::optional<Communicator> node = {};
  /// For executors that update in place; others do not use them and may get null.
  const UpdateRule* rule = nullptr;
  RuleState* state = nullptr;
  double clip_norm = 0;  ///< Maximum gradient norm of an update; 0: no limit.
  /// On values_device, UpdateScalars::stop, for a loss that is not possible to set; null: no loss
  /// stops the updates.
  double* stop = nullptr;

  /// CPU threads of an executor whose threads work apart.
  int Workers() const {
    const int simulated = node ? VirtualTime(*node).CpuThreads() : 0;
    return simulated > 0 ? simulated : threads.threads;
  }
};

/// Settings of one step.
struct ExecutorStep {
  GradientReady ready = {};  ///< Called for each slice whose gradient is complete; may be empty.
  bool beside = false;  ///< What `ready` starts goes on beside the pass: nothing of it is captured.
  /// If not empty, `ready` only enqueues, and may be captured with the pass; called where that is
  /// launched in place of calls of `ready`. Empty: `ready` comes after what is captured.
  std::function<void()> launched = {};
  double learning_rate = 0;  ///< For updates in place.
  Head* head = nullptr;  ///< Computes the graph's head elsewhere; null: the graph is whole. Always
                         ///< null for executors that update in place.
};

struct StepResult {
  double loss = 0;  ///< Mean over the batch.
  int64_t examples = 0;
  bool late = false;   ///< The loss is not known yet: Executor::LateResult returns it.
  double seconds = 0;  ///< In virtual time: of the pass, where several devices share it.
};

class WorkSource;

class Executor {
 public:
  virtual ~Executor() = default;
  /// True: Step updates the values itself for a round of examples and counts the updates in the
  /// rule's state; strategies only exchange. False: Step writes params.gradients.
  virtual bool in_place() const { return false; }
  /// Processes one batch with `params`, whose gradients are set; on a device they are there in the
  /// order of Device::stream(). An in-place executor stops updating at the first non-finite loss
  /// and returns that loss.
  virtual StepResult Step(const Batch& batch, const ParamView& params,
                          const ExecutorStep& step) = 0;
  /// The result of the earliest step whose loss was late and has not been returned; none: there is
  /// no such step, or it is not `wanted` and may be under way. Call it after each step.
  virtual std::optional<StepResult> LateResult(bool /*wanted*/) { return {}; }
  /// For in-place executors: works until `source` has no more examples, as Step does.
  virtual StepResult RunRound(WorkSource& source, const ParamView& params);
  /// The smallest batch that it may compute in an epoch whose steps have so many examples, but the
  /// last `rest` (0: as many).
  virtual int64_t SmallestBatch(int64_t step, int64_t rest) const {
    return rest > 0 ? std::min(step, rest) : step;
  }
  /// After a non-finite loss: the layer where it began, or "".
  virtual std::string FirstNonFinite() const { return ""; }
  /// By device, in the order of ExecutorContext::devices; empty for a single one.
  virtual std::vector<DeviceWork> Work() const { return {}; }
  /// The state (a table) that a checkpoint needs for an identical continuation, and its
  /// restoration.
  virtual Value State() const { return Value(Table{}); }
  virtual void Restore(const Value& /*state*/) {}
};

inline std::string AnyDevices(const std::vector<Device*>& /*devices*/) { return ""; }
/// For executors that compute on the CPU only.
std::string OnlyTheCpu(const std::vector<Device*>& devices);

struct ExecutorEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [node] that belong to this executor.
  std::unique_ptr<Executor> (*make)(const Options& options, const ExecutorContext& context);
  /// Empty if it works with these devices, otherwise the reason, which follows its name.
  std::string (*supports)(const std::vector<Device*>& devices) = AnyDevices;
  /// The same of a model; null: it trains all.
  std::string (*trains)(const Graph& graph) = nullptr;
  bool divides_model = false;  ///< Its devices compute different layers.
  bool in_place = false;       ///< What Executor::in_place says.
  /// The values may lie on the only device, if it has a memory of its own.
  bool values_on_device = false;
  /// Leaves the update of whole parameters to the strategy: see StrategyEntry::whole_layers.
  bool whole_layers = false;
  /// Examples of a step, of which each device takes what it wants, if each replica has so many in
  /// an epoch; null: train.batch.
  int64_t (*step_examples)(const Options& options, int64_t batch, int64_t epoch) = nullptr;
  /// Predicts what it does on devices that it supports; null: it has no formula.
  ExecutorEstimate (*estimate)(const Options& options, const EstimateRequest& request) = nullptr;
};
const std::vector<ExecutorEntry>& executors();

}  // namespace yoke
