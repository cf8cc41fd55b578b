// Support: a model of the zoo with the parts that train it, joined as the Trainer joins them.
#pragma once

#include <memory>
#include <string>

#include "node/executor.h"
#include "optim/rule.h"

namespace yoke::testing_support {

struct JobSettings {
  std::string model = "mlp";
  int64_t batch = 8;
  DType arithmetic = DType::kF32;
  bool reference = false;
  double learning_rate = 0.02;
};

/// Trains on 28x28 images of 10 classes by momentum.
class Job {
 public:
  explicit Job(const JobSettings& settings);
  /// One step on a batch; its loss.
  double Step(const Batch& batch);
  const ParamStore& params() const { return params_; }
  Executor& executor() { return *executor_; }

 private:
  JobSettings settings_;
  Graph graph_;
  ParamStore params_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::unique_ptr<Executor> executor_;
};

/// Images drawn uniformly in [0, 1), then a class for each, from the stream {1, 99, number}.
Batch DrawnBatch(int64_t size, uint64_t number);

}  // namespace yoke::testing_support
