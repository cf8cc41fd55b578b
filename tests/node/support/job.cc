// Support: a model of the zoo with the parts that train it.
#include "node/support/job.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "base/registry.h"
#include "tensor/support/arrays.h"

namespace yoke::testing_support {
namespace {

constexpr int64_t kFeatures = 40;

std::unique_ptr<UpdateRule> MakeRule(const JobSettings& settings) {
  const RuleEntry& entry = FindEntry(rules(), "rule", settings.rule);
  Table train;
  if (settings.weight_decay > 0) train.emplace_back("weight_decay", settings.weight_decay);
  return entry.make(Options("train", train, entry.options));
}

Graph MakeGraph(const JobSettings& settings) {
  Table model = {{"name", settings.model}};
  if (!settings.layers.empty()) model = {{"layer", settings.layers}};
  if (!settings.widths.empty())
    model.emplace_back("widths", List(settings.widths.begin(), settings.widths.end()));
  Edge input{.shape = {1, 28, 28}};
  if (settings.sparse) input = {.shape = {kFeatures}, .sparse = true};
  return BuildModel(model, {.input = input, .outputs = 10, .multi_label = settings.multi_label});
}

}  // namespace

Job::Job(const JobSettings& settings)
    : settings_(settings),
      kernel_threads_(std::max(1, settings.threads)),
      graph_(MakeGraph(settings)),
      params_(graph_.layout(), *settings.values),
      states_(graph_.MakeStates()),
      gradients_(graph_.layout(), *settings.values),
      rule_(MakeRule(settings)),
      state_(graph_.layout(), *rule_, *settings.values) {
  const ExecutorEntry& entry = FindEntry(executors(), "executor", settings.executor);
  executor_ = entry.make(Options("node", settings.node, entry.options),
                         {.graph = graph_,
                          .batch = settings.batch,
                          .arithmetic = settings.arithmetic,
                          .reference_kernels = settings.reference,
                          .devices = settings.devices,
                          .device_timeout = settings.device_timeout,
                          .values_device = settings.values,
                          .threads = {.threads = std::max(1, settings.threads)},
                          .node = settings.world,
                          .rule = rule_.get(),
                          .state = &state_,
                          .clip_norm = settings.clip_norm,
                          .stop = settings.values->IsHost() ? nullptr : &state_.on_device()->stop});
  Initialize(params_, 1);
}

StepResult Job::Run(const Batch& batch) {
  const StepResult result = executor_->Step(
      batch, View(), {.beside = !settings_.captures, .learning_rate = settings_.learning_rate});
  if (!executor_->in_place())
    Apply(params_, {.rule = *rule_,
                    .state = state_,
                    .gradients = gradients_,
                    .learning_rate = settings_.learning_rate,
                    .clip_norm = settings_.clip_norm});
  return result.late ? *executor_->LateResult(/*wanted=*/true) : result;
}

ParamView Job::View() {
  ParamView view = params_.View(&gradients_);
  view.states = &states_;
  return view;
}

void Job::Restore(Job& other) {
  Copy(params_.values(), other.params_.values());
  for (int i = 0; i < static_cast<int>(state_.names().size()); ++i)
    Copy(state_.array(i), other.state_.array(i));
  for (size_t s = 0; s < graph_.layout().slices().size(); ++s)
    Copy(state_.row_steps(static_cast<int>(s)), other.state_.row_steps(static_cast<int>(s)));
  std::ranges::copy(other.state_.all_scalars(), state_.all_scalars().begin());
  state_.steps = other.state_.steps;
  const std::vector<StateTensor> own = graph_.StateTensors(states_),
                                 its = other.graph_.StateTensors(other.states_);
  for (size_t i = 0; i < own.size(); ++i)
    std::memcpy(own[i].data, its[i].data, own[i].shape.Count() * SizeOf(own[i].type));
  for (size_t node = 0; node < states_.size(); ++node)
    if (LayerState* const state = states_.of(node)) state->Restored();
  executor_->Restore(other.executor_->State());
}

std::vector<float> Job::Values() const { return ValuesOf(params_.values()); }

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

Batch DrawnSparseBatch(int64_t size, uint64_t number) {
  Random random{1, 98, number};
  Batch batch;
  batch.size = size;
  batch.is_sparse = true;
  batch.sparse.Clear();
  batch.sparse.width = kFeatures;
  for (int64_t i = 0; i < size; ++i) {
    for (int32_t id = 0; i % 7 != 6 && id < kFeatures; ++id)
      if (random.Uniform() < 0.125) {
        batch.sparse.ids.push_back(id);
        batch.sparse.values.push_back(static_cast<float>(random.Uniform()));
      }
    batch.sparse.offsets.push_back(static_cast<int64_t>(batch.sparse.ids.size()));
    batch.examples.push_back(i);
    batch.classes.push_back(static_cast<int32_t>(random.Uniform() * 10));
  }
  return batch;
}

Batch SameExamples(int64_t size) {
  Batch batch = DrawnBatch(size, 0);
  const int64_t elements = batch.dense.Count() / size;
  for (int64_t i = elements; i < batch.dense.Count(); ++i)
    batch.dense.As<float>()[i] = batch.dense.As<float>()[i - elements];
  std::ranges::fill(batch.classes, 3);
  return batch;
}

double PartOfStep(const std::vector<float>& change, const JobSettings& job, const Batch& batch) {
  Job single(job);
  std::vector<float> step = single.Values();
  single.Step(batch);
  const std::vector<float> after = single.Values();
  std::ranges::transform(after, step, step.begin(), std::minus<>());
  const auto along = [&step](const std::vector<float>& values) {
    return std::inner_product(step.begin(), step.end(), values.begin(), 0.0);
  };
  return along(change) / along(step);
}

}  // namespace yoke::testing_support
