// Support: a model of the zoo with the parts that train it, joined as the Trainer joins them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/support/threads.h"
#include "node/executor.h"
#include "node/work_source.h"
#include "optim/rule.h"

namespace yoke::testing_support {

struct JobSettings {
  std::string model = "mlp";
  List layers = {};  ///< In place of a model of the zoo.
  int64_t batch = 8;
  DType arithmetic = DType::kF32;
  bool reference = false;
  std::vector<Device*> devices = {&Cpu()};
  double device_timeout = 60;
  Device* values = &Cpu();  ///< Holds values, gradients and state.
  double learning_rate = 0.02;
  std::string executor = "single";
  Table node = {};                         ///< The executor's options.
  int threads = 0;                         ///< Of the executor and of kernels; 0: one.
  std::optional<Communicator> world = {};  ///< ExecutorContext::node.
  std::string rule = "momentum";
  double clip_norm = 0;
  double weight_decay = 0;
  std::vector<int64_t> widths = {};  ///< Of an mlp's hidden layers; empty: the model's own.
  bool sparse = false;               ///< Trains on sparse rows of 40 features in place of images.
  bool multi_label = false;          ///< Sets of labels in place of classes.
  bool captures = true;              ///< On a device whose stream captures; else kernel by kernel.
};

/// Trains on 28x28 images of 10 classes. Kernels of this thread have the job's threads while it
/// lives.
class Job {
 public:
  explicit Job(const JobSettings& settings);
  /// One step on a batch; its loss.
  double Step(const Batch& batch) { return Run(batch).loss; }
  StepResult Run(const Batch& batch);
  /// One round of an executor that updates in place.
  StepResult RunRound(WorkSource& source) { return executor_->RunRound(source, View()); }
  /// Goes on from where `other` is, by what a checkpoint holds.
  void Restore(Job& other);

  const ParamStore& params() const { return params_; }
  const Graph& graph() const { return graph_; }
  const RuleState& state() const { return state_; }
  LayerStates& layer_states() { return states_; }
  Executor& executor() { return *executor_; }
  /// All values, for comparison.
  std::vector<float> Values() const;

 private:
  ParamView View();

  JobSettings settings_;
  Threads kernel_threads_;
  Graph graph_;
  ParamStore params_;
  LayerStates states_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::unique_ptr<Executor> executor_;
};

/// Images drawn uniformly in [0, 1), then a class for each, from the stream {1, 99, number}.
Batch DrawnBatch(int64_t size, uint64_t number);
/// Rows of about 5 of 40 features, none in every seventh, with classes.
Batch DrawnSparseBatch(int64_t size, uint64_t number);

/// One image of class 3 so many times: all gradients at the same values are the same.
Batch SameExamples(int64_t size);
/// The change of all values along that of one step of this job on the batch, divided by it.
double PartOfStep(const std::vector<float>& change, const JobSettings& job, const Batch& batch);

}  // namespace yoke::testing_support
