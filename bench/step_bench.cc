// Measures full training steps (executor, strategy, rule) of a named model, and the limits of this
// machine that bound them. Prints lines of JSON; bench/step.py compares them with PyTorch.
//
// usage: step_bench step MODEL BATCH THREADS PRECISION IMAGE CLASSES [OPTION=true...]
//        step_bench limits THREADS
// IMAGE is as 3x224x224. `step` reads a number of seconds from each line of its standard input and
// answers with what it measured in them, until the input ends.
#include <fmt/core.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/registry.h"
#include "base/version.h"
#include "bench/rate.h"
#include "comm/threads.h"
#include "node/executor.h"
#include "strategy/strategy.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

/// What is measured.
struct Case {
  Table model;  ///< As in [model].
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
  ModelTask task;
};

/// A job's parts for one model, joined as the Trainer joins them.
class Job {
 public:
  Job(const Case& what, const Communicator& world)
      : graph_(BuildModel(what.model, what.task)),
        params_(graph_.layout(), Cpu()),
        gradients_(graph_.layout(), Cpu()),
        rule_(MakeMomentum()),
        state_(graph_.layout(), *rule_, Cpu()),
        executor_(FindEntry(executors(), "executor", "single")
                      .make(Options(),
                            {.graph = graph_, .batch = what.batch, .arithmetic = what.arithmetic})),
        strategy_(FindEntry(strategies(), "strategy", "none")
                      .make(Options(), {.world = world,
                                        .params = params_,
                                        .gradients = gradients_,
                                        .rule = *rule_,
                                        .state = state_})),
        batches_(4) {
    Initialize(params_, 1, KernelThreads());
    for (Batch& b : batches_) Fill(b, what);
  }

  double Step() {
    const Batch& batch = batches_[step_ % batches_.size()];
    const StrategyStep step = {.step = step_++, .learning_rate = 0.001, .examples = batch.size};
    const StepResult result = executor_->Step(batch, strategy_->View(step), {});
    strategy_->Step(step);
    return result.loss;
  }

  int64_t Parameters() const { return graph_.layout().Parameters(); }

  /// Operations of the direct algorithm for an example's step: products of linear and convolution
  /// layers, of which the first computes no gradient of its input.
  double Operations() const {
    double sum = 0;
    for (const LayerInfo& layer : graph_.Info()) {
      if (!layer.type.starts_with("convolution") && !layer.type.starts_with("linear")) continue;
      sum += layer.cost.operations * (sum == 0 ? 2.0 / 3 : 1);
    }
    return sum;
  }

  static std::unique_ptr<UpdateRule> MakeMomentum() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "momentum");
    return entry.make(Options("train", Table{}, entry.options));
  }

 private:
  static void Fill(Batch& batch, const Case& what) {
    Random random{1, 2};
    batch.size = what.batch;
    batch.ResizeDense(what.task.input.shape);
    for (int64_t i = 0; i < batch.dense.Count(); ++i)
      batch.dense.As<float>()[i] = static_cast<float>(random.Uniform());
    for (int64_t i = 0; i < what.batch; ++i) {
      batch.examples.push_back(i);
      batch.classes.push_back(static_cast<int32_t>(random.Below(what.task.outputs)));
    }
  }

  Graph graph_;
  ParamStore params_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Strategy> strategy_;
  std::vector<Batch> batches_;
  int64_t step_ = 0;
};

void ServeSteps(const Case& what, const Communicator& world) {
  Job job(what, world);
  double loss = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const double rate = Rate(std::stod(line), [&] { loss = job.Step(); });
    fmt::print(
        "{{\"images_per_second\": {:.2f}, \"loss\": {:.4f}, \"peak_bytes\": {}, "
        "\"operations\": {:.6g}, \"parameters\": {}}}\n",
        rate * static_cast<double>(what.batch), loss, PeakBytes(), job.Operations(),
        job.Parameters());
    std::fflush(stdout);
  }
}

/// "3x224x224" as a shape.
Shape ImageOf(const std::string& text) {
  std::vector<int64_t> axes;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, 'x');) axes.push_back(std::stoll(word));
  return Shape(axes);
}

Case CaseOf(const std::vector<std::string>& words) {
  Case what{.model = {{"name", words[1]}},
            .batch = std::stoll(words[2]),
            .arithmetic = words[4] == "bf16" ? DType::kBf16 : DType::kF32,
            .task = {.input = {.shape = ImageOf(words[5])}, .outputs = std::stoll(words[6])}};
  for (size_t i = 7; i < words.size(); ++i)
    what.model.emplace_back(words[i].substr(0, words[i].find('=')), true);
  return what;
}

/// Bytes a second of a momentum update of `count` elements: three arrays read, two written.
double UpdateBandwidth(int64_t count) {
  ParamLayout layout;
  layout.Add({.name = "layer.weight", .shape = {count}});
  layout.Pack();
  ParamStore params(layout, Cpu());
  const Gradients gradients(layout, Cpu());
  const auto rule = Job::MakeMomentum();
  RuleState state(layout, *rule, Cpu());
  const ApplyRequest request{
      .rule = *rule, .state = state, .gradients = gradients, .learning_rate = 0.01};
  return Rate(0.3, [&] { Apply(params, request); }) * 20 * static_cast<double>(count);
}

void MeasureLimits() {
  const KernelLibrary library = DescribeKernelLibrary();
  fmt::print(
      "{{\"gemm_f32\": {:.4g}, \"gemm_bf16\": {:.4g}, \"cache_bandwidth\": {:.4g}, "
      "\"memory_bandwidth\": {:.4g}, "
      "\"version\": \"{}\", \"commit\": \"{}\", \"library\": \"{} {}, {}\"}}\n",
      GemmPeak(DType::kF32), GemmPeak(DType::kBf16), UpdateBandwidth(669'706),
      UpdateBandwidth(32 << 20), Version(), Commit(), library.name, library.version, library.isa);
}

}  // namespace

int main(int argc, char** argv) {
  BeginProgram(argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "limits") {
    SetKernelThreads(std::stoi(words[1]));
    MeasureLimits();
  } else if (words.size() >= 7 && words[0] == "step") {
    SetKernelThreads(std::stoi(words[3]));
    RunThreads({.ranks = 1}, [&](const Communicator& world) { ServeSteps(CaseOf(words), world); });
  } else {
    fmt::print(
        stderr,
        "usage: step_bench step MODEL BATCH THREADS PRECISION IMAGE CLASSES [OPTION=true...] "
        "| limits THREADS\n");
    return 2;
  }
  return 0;
}
