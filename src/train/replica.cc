// Replica: the parts that a job names, found in their lists and joined.
#include "train/replica.h"

#include <algorithm>
#include <cmath>

#include "base/registry.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// bf16 is for CPUs that multiply it faster than f32.
void CheckPrecision(const Job& job) {
  const KernelLibrary library = DescribeKernelLibrary();
  Require(ArithmeticOf(job) == DType::kF32 || library.fast_bf16 || job.ReferenceKernels(),
          "{}: bf16 would be slower than f32 here: this CPU has no bf16 arithmetic ({}); use "
          "precision = \"f32\"",
          job.node.Where("precision"), library.isa);
}

/// Whether a job and the one of a checkpoint name the same part.
bool SamePart(const Job& job, const Value& before, const char* section, const char* key) {
  const Value* old_section = before.Find(section);
  const Value* old_name = old_section ? old_section->Find(key) : nullptr;
  return old_name && *old_name == *job.resolved.Find(section)->Find(key);
}

}  // namespace

ModelTask TaskOf(const DataInfo& data) {
  Edge input;
  input.shape = data.input;
  input.sparse = data.sparse;
  return {.input = input, .outputs = data.outputs, .multi_label = data.multi_label};
}

DType ArithmeticOf(const Job& job) {
  return job.node.String("precision") == "bf16" ? DType::kBf16 : DType::kF32;
}

Replica::Replica(const Job& job, const DataInfo& data)
    : job_(job),
      graph_(BuildModel(job.model(), TaskOf(data))),
      params_(graph_.layout(), Cpu()),
      states_(graph_.MakeStates()),
      gradients_(graph_.layout(), Cpu()),
      rule_(FindEntry(rules(), "rule", job.train.String("rule")).make(job.train)),
      state_(graph_.layout(), *rule_, Cpu()) {
  CheckPrecision(job);
  Initialize(params_, job.seed(), KernelThreads());
  const StrategyContext context = {.params = params_,
                                   .gradients = gradients_,
                                   .rule = *rule_,
                                   .state = state_,
                                   .clip_norm = job.train.Float("clip_norm")};
  strategy_ = FindEntry(strategies(), "strategy", job.cluster.String("strategy"))
                  .make(job.cluster, context);
  executor_ = FindEntry(executors(), "executor", job.node.String("executor"))
                  .make(job.node, {.graph = graph_,
                                   .batch = job.train.Int("batch"),
                                   .arithmetic = ArithmeticOf(job),
                                   .reference_kernels = job.ReferenceKernels()});
  ready_ = [this](int slice) { strategy_->GradientReady(slice); };
  strategy_->Prepare();
}

StepResult Replica::Step(const Batch& batch, StrategyStep step) {
  ParamView view = strategy_->View(step.step);
  view.states = &states_;
  const StepResult result = executor_->Step(batch, view, ready_);
  if (!std::isfinite(result.loss)) return result;
  step.examples = result.examples;
  strategy_->Step(step);
  return result;
}

std::string Replica::BadParameter() const {
  const float* values = Model();
  for (const Slice& slice : layout().slices())
    if (!std::all_of(values + slice.offset, values + slice.offset + slice.Count(),
                     [](float x) { return std::isfinite(x); }))
      return slice.name;
  return "";
}

std::string Replica::FirstNonFinite() const {
  const std::string parameter = BadParameter();
  return parameter.empty() ? executor_->FirstNonFinite() : parameter;
}

Metrics Replica::Evaluate(const Reader& reader, const std::atomic<int>* stop) const {
  ParamView view = params_.View();
  view.values = const_cast<float*>(Model());
  return yoke::Evaluate(reader, {.graph = graph_,
                                 .params = view,
                                 .arithmetic = ArithmeticOf(job_),
                                 .reference_kernels = job_.ReferenceKernels(),
                                 .threads = job_.Threads(),
                                 .stop = stop});
}

MemoryUse Replica::Memory() const {
  return {.parameters = params_.bytes(),
          .rule_state = state_.bytes(),
          .tables = states_.Bytes(),
          .gradients = gradients_.bytes()};
}

const float* Replica::Model() const {
  strategy_->Quiesce();
  return strategy_->Model();
}

void Replica::Describe(CheckpointHead& head) const {
  head.rule_steps = state_.steps;
  head.executor = executor_->State();
  head.strategy = strategy_->State();
}

void Replica::Restore(const Checkpoint& checkpoint) {
  const CheckpointHead& head = checkpoint.head();
  checkpoint.Load(params_);
  if (SamePart(job_, head.job, "train", "rule")) checkpoint.Load(layout(), state_);
  if (checkpoint.Load(LayerTensors()))
    for (size_t node = 0; node < states_.size(); ++node)
      if (LayerState* state = states_.of(node)) state->Restored();
  if (SamePart(job_, head.job, "node", "executor")) executor_->Restore(head.executor);
  if (SamePart(job_, head.job, "cluster", "strategy")) strategy_->Restore(head.strategy);
}

}  // namespace yoke
