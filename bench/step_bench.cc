// Measures full training steps (executor, strategy, rule) of a named model, and the limits of this
// machine that bound them. Prints one line of JSON; bench/run.py compares it with PyTorch.
//
// usage: step_bench step MODEL BATCH THREADS SECONDS | step_bench limits THREADS
#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/registry.h"
#include "base/version.h"
#include "bench/rate.h"
#include "kernels/threads.h"
#include "node/executor.h"
#include "strategy/strategy.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

/// A job's parts for one model, joined as the Trainer joins them.
class Job {
 public:
  Job(const std::string& model, int64_t batch)
      : graph_(BuildModel(Table{{"name", model}}, Task())),
        params_(graph_.layout(), Cpu()),
        gradients_(graph_.layout(), Cpu()),
        rule_(MakeMomentum()),
        state_(graph_.layout(), *rule_, Cpu()),
        executor_(FindEntry(executors(), "executor", "single")
                      .make(Options(), {.graph = graph_, .batch = batch})),
        strategy_(
            FindEntry(strategies(), "strategy", "none")
                .make(
                    Options(),
                    {.params = params_, .gradients = gradients_, .rule = *rule_, .state = state_})),
        batches_(4) {
    Initialize(params_, 1);
    for (Batch& b : batches_) Fill(b, batch);
  }

  double Step() {
    const Batch& batch = batches_[step_ % batches_.size()];
    const StepResult result = executor_->Step(batch, strategy_->View(step_), {});
    strategy_->Step({.step = step_, .learning_rate = 0.001, .examples = result.examples});
    ++step_;
    return result.loss;
  }

  static std::unique_ptr<UpdateRule> MakeMomentum() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "momentum");
    return entry.make(Options("train", Table{}, entry.options));
  }

 private:
  static ModelTask Task() { return {.input = {.shape = {1, 28, 28}}, .outputs = 10}; }

  static void Fill(Batch& batch, int64_t size) {
    Random random{1, 2};
    batch.size = size;
    batch.ResizeDense({1, 28, 28});
    for (int64_t i = 0; i < batch.dense.Count(); ++i)
      batch.dense.As<float>()[i] = static_cast<float>(random.Uniform());
    for (int64_t i = 0; i < size; ++i) {
      batch.examples.push_back(i);
      batch.classes.push_back(static_cast<int32_t>(random.Below(10)));
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

void MeasureSteps(const std::string& model, int64_t batch, double seconds) {
  Job job(model, batch);
  double loss = 0;
  const double rate = Rate(seconds, [&] { loss = job.Step(); });
  fmt::print("{{\"images_per_second\": {:.1f}, \"microseconds\": {:.2f}, \"loss\": {:.4f}}}\n",
             rate * static_cast<double>(batch), 1e6 / rate, loss);
}

/// Bytes a second of a momentum update of `count` numbers: three arrays read, two written.
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
  return Rate(0.5, [&] { Apply(params, request); }) * 20 * static_cast<double>(count);
}

void MeasureLimits() {
  const KernelLibrary library = DescribeKernelLibrary();
  fmt::print(
      "{{\"gemm_f32\": {:.4g}, \"cache_bandwidth\": {:.4g}, \"memory_bandwidth\": {:.4g}, "
      "\"version\": \"{}\", \"commit\": \"{}\", \"library\": \"{} {}, {}\"}}\n",
      GemmPeak(), UpdateBandwidth(669'706), UpdateBandwidth(32 << 20), Version(), Commit(),
      library.name, library.version, library.isa);
}

}  // namespace

int main(int argc, char** argv) {
  WaitBriefly(argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "limits") {
    SetKernelThreads(std::stoi(words[1]));
    MeasureLimits();
  } else if (words.size() == 5 && words[0] == "step") {
    SetKernelThreads(std::stoi(words[3]));
    MeasureSteps(words[1], std::stoll(words[2]), std::stod(words[4]));
  } else {
    fmt::print(stderr, "usage: step_bench step MODEL BATCH THREADS SECONDS | limits THREADS\n");
    return 2;
  }
  return 0;
}
