// Support: a model of the zoo with the parts that train it.
#include "node/support/job.h"

#include "base/random.h"
#include "base/registry.h"

namespace yoke::testing_support {
namespace {

std::unique_ptr<UpdateRule> MakeMomentum() {
  const RuleEntry& entry = FindEntry(rules(), "rule", "momentum");
  return entry.make(Options("train", Table{}, entry.options));
}

}  // namespace

Job::Job(const JobSettings& settings)
    : settings_(settings),
      graph_(BuildModel(Table{{"name", settings.model}},
                        {.input = {.shape = {1, 28, 28}}, .outputs = 10})),
      params_(graph_.layout(), Cpu()),
      gradients_(graph_.layout(), Cpu()),
      rule_(MakeMomentum()),
      state_(graph_.layout(), *rule_, Cpu()),
      executor_(FindEntry(executors(), "executor", "single")
                    .make(Options(), {.graph = graph_,
                                      .batch = settings.batch,
                                      .arithmetic = settings.arithmetic,
                                      .reference_kernels = settings.reference})) {
  Initialize(params_, 1);
}

double Job::Step(const Batch& batch) {
  const double loss = executor_->Step(batch, params_.View(&gradients_), {}).loss;
  Apply(params_, {.rule = *rule_,
                  .state = state_,
                  .gradients = gradients_,
                  .learning_rate = settings_.learning_rate});
  return loss;
}

Batch DrawnBatch(int64_t size, uint64_t number) {
  Random random{1, 99, number};
  Batch batch;
  batch.size = size;
  batch.ResizeDense({1, 28, 28});
  for (int64_t i = 0; i < batch.dense.Count(); ++i)
    batch.dense.As<float>()[i] = static_cast<float>(random.Uniform());
  for (int64_t i = 0; i < size; ++i) {
    batch.examples.push_back(i);
    batch.classes.push_back(static_cast<int32_t>(random.Uniform() * 10));
  }
  return batch;
}

}  // namespace yoke::testing_support
