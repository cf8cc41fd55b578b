// Sets the momentum that asynchrony brings to a network beside the law, 1 - 1/g for g workers with
// memoryless times (Mitliagkas, Zhang, Hadjis, Re, "Asynchrony begets Momentum", 2016), which is
// exact where gradients are linear. Prints lines of JSON.
//
// usage: momentum_law [MODEL [RUNS [RATE [WORKERS...]]]]      (lenet 100 0.05 2 4 8 16)
//
// async_sgd in virtual time with exponential times of a gradient, which is that of one batch of
// drawn digits, so that nothing but the order of arrival is drawn. The values after each update are
// averaged over the runs; mu and a of d(t) = mu d(t - 1) - a gradient(w(t)), d(t) = w(t + 1) -
// w(t), follow by least squares over all parameters.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/registry.h"
#include "comm/simulated.h"
#include "data/reader.h"
#include "kernels/threads.h"
#include "model/graph.h"
#include "node/executor.h"
#include "strategy/strategy.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

constexpr int64_t kExamples = 64, kUpdates = 40;
constexpr int kWarmUp = 30;  // steps of one worker before all runs

using Values = std::vector<float>;
using Trajectory = std::vector<std::vector<double>>;  // after each update, the first before

/// One batch, and the network that it belongs to.
class Problem {
 public:
  explicit Problem(const std::string& model)
      : task_{.input = {.shape = {1, 28, 28}}, .outputs = 10},
        graph_(BuildModel(Table{{"name", model}}, task_)) {
    const DataSets data = OpenData(
        Table{{"format", "synthetic-digits"}, {"train_size", kExamples}, {"test_size", 1}}, 1);
    std::vector<int64_t> all(kExamples);
    for (int64_t i = 0; i < kExamples; ++i) all[i] = i;
    data.train->Read({.examples = all, .seed = 1}, batch_);
  }

  const Graph& graph() const { return graph_; }
  const ParamLayout& layout() const { return graph_.layout(); }
  const Batch& batch() const { return batch_; }

 private:
  ModelTask task_;
  Graph graph_;
  Batch batch_;
};

/// What computes gradients of a problem, for one worker.
class Gradient {
 public:
  explicit Gradient(const Problem& problem)
      : problem_(problem),
        executor_(FindEntry(executors(), "executor", "single")
                      .make(Options(), {.graph = problem.graph(), .batch = kExamples})) {}
  void At(const ParamView& view) { executor_->Step(problem_.batch(), view, {}); }

 private:
  const Problem& problem_;
  std::unique_ptr<Executor> executor_;
};

/// One worker's parts under a strategy.
class Worker {
 public:
  Worker(const Problem& problem, const Communicator& world, const Values& from)
      : world_(world),
        params_(problem.layout(), Cpu()),
        gradients_(problem.layout(), Cpu()),
        rule_(MakeSgd()),
        state_(problem.layout(), *rule_, Cpu()),
        gradient_(problem) {
    std::copy(from.begin(), from.end(), params_.values().Host().data());
    const StrategyEntry& entry =
        FindEntry(strategies(), "strategy", world.size() > 1 ? "async_sgd" : "none");
    strategy_ = entry.make(Options("cluster", Table{}, entry.options), {.world = world.Duplicate(),
                                                                        .params = params_,
                                                                        .gradients = gradients_,
                                                                        .rule = *rule_,
                                                                        .state = state_});
    strategy_->Prepare();
  }

  /// `read(values)` hears where the gradient is taken.
  template <typename Read>
  void Step(double rate, const Read& read) {
    const StrategyStep step = {
        .step = step_++, .learning_rate = rate, .examples = kExamples, .team_examples = kExamples};
    const ParamView view = strategy_->View(step);
    read(view.values.Host().data());
    gradient_.At(view);
    world_.Charge({.operations = 1});
    strategy_->Step(step);
  }
  const float* values() const { return params_.values().Host().data(); }

  static std::unique_ptr<UpdateRule> MakeSgd() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
    return entry.make(Options("train", Table{}, entry.options));
  }

 private:
  Communicator world_;
  ParamStore params_;
  Gradients gradients_;
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;
  Gradient gradient_;
  std::unique_ptr<Strategy> strategy_;
  int64_t step_ = 0;
};

/// Where all runs begin: drawn weights after some steps of one worker.
Values WarmedUp(const Problem& problem, double rate) {
  ParamStore drawn(problem.layout(), Cpu());
  Initialize(drawn, 1);
  const std::span<float> first = drawn.values().Host();
  Values values(first.begin(), first.end());
  Simulate({}, [&](const Communicator& world) {
    Worker worker(problem, world, values);
    for (int i = 0; i < kWarmUp; ++i) worker.Step(rate, [](const float*) {});
    std::copy_n(worker.values(), values.size(), values.begin());
  });
  return values;
}

/// Adds the server's values, update by update, of one run.
void AddRun(const Problem& problem, const Values& from, int workers, double rate, uint64_t seed,
            Trajectory& sums) {
  const auto updates = static_cast<int64_t>(sums.size());
  int64_t reads = 0;
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  Simulate({.ranks = workers, .service = ExponentialService(gradients_only, seed, workers)},
           [&](const Communicator& world) {
             Worker worker(problem, world, from);
             while (reads < updates + workers)
               worker.Step(rate, [&](const float* values) {
                 // A worker's first read is of the first values, every later one follows its push.
                 const int64_t update = std::max<int64_t>(0, ++reads - workers);
                 if (update >= updates || (update == 0 && world.rank() > 0)) return;
                 std::vector<double>& sum = sums[update];
                 for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
               });
           });
}

/// mu of d(t) = mu d(t - 1) - a gradient(w(t)).
double FitMomentum(const Problem& problem, const Trajectory& w) {
  ParamStore at(problem.layout(), Cpu());
  Gradients gradients(problem.layout(), Cpu());
  Gradient gradient(problem);
  double dd = 0, gg = 0, dg = 0, yd = 0, yg = 0;
  for (size_t t = 1; t + 1 < w.size(); ++t) {
    std::copy(w[t].begin(), w[t].end(), at.values().Host().begin());
    gradient.At(at.View(&gradients));
    for (int64_t i = 0; i < gradients.dense().count; ++i) {
      const double y = w[t + 1][i] - w[t][i], d = w[t][i] - w[t - 1][i];
      const double g = gradients.dense().Host()[i];
      dd += d * d, gg += g * g, dg += d * g, yd += y * d, yg += y * g;
    }
  }
  return (yd * gg - yg * dg) / (dd * gg - dg * dg);
}

}  // namespace

int main(int count, char** words) {
  BeginProgram(words);
  const std::string model = count > 1 ? words[1] : "lenet";
  const int runs = count > 2 ? std::atoi(words[2]) : 100;
  const double rate = count > 3 ? std::atof(words[3]) : 0.05;
  std::vector<int> sizes;
  for (int i = 4; i < count; ++i) sizes.push_back(std::atoi(words[i]));
  if (sizes.empty()) sizes = {2, 4, 8, 16};
  const Problem problem(model);
  const Values from = WarmedUp(problem, rate);
  for (const int workers : sizes) {
    Trajectory sums(kUpdates, std::vector<double>(problem.layout().size()));
    for (int run = 0; run < runs; ++run)
      AddRun(problem, from, workers, rate, 1000 * workers + run, sums);
    for (std::vector<double>& values : sums)
      for (double& value : values) value /= runs;
    fmt::print(
        "{{\"model\": \"{}\", \"rate\": {}, \"runs\": {}, \"workers\": {}, "
        "\"momentum\": {:.4f}, \"law\": {:.4f}}}\n",
        model, rate, runs, workers, FitMomentum(problem, sums), 1 - 1.0 / workers);
    std::fflush(stdout);
  }
}
