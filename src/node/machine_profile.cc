// MachineProfile: a replica's parts without strategy, stepped at several batches.
#include "node/machine_profile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/random.h"
#include "base/registry.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "node/speed_fit.h"
#include "node/step_timer.h"

namespace yoke {
namespace {

constexpr int kRounds = 3;             // visits of each batch but the job's
constexpr int kMostOfTraining = 2000;  // steps of the job's batch
constexpr int kLeastSteps = 3;         // of each batch, in all
/// Other batches than the job's are left out if their steps would take so many times the time for
/// them.
constexpr double kTooLong = 3;
constexpr int64_t kManyExamples = int64_t{1} << 40;  // keep the CPU busy

/// Batches of the training data in random order.
class Batches {
 public:
  Batches(const ProfileRequest& request, int64_t size)
      : request_(request),
        order_(Permutation(request.data.Size(), Random({request.seed, 1}))),
        size_(std::min<int64_t>(size, std::ssize(order_))) {}

  int64_t size() const { return size_; }
  const Batch& batch() const { return batch_; }
  void Read() {
    if (next_ + size_ > std::ssize(order_)) next_ = 0;
    const auto examples = std::span(order_).subspan(next_, size_);
    request_.data.Read({.examples = examples, .seed = request_.seed}, batch_);
    next_ += size_;
  }

 private:
  const ProfileRequest& request_;
  std::vector<int64_t> order_;
  int64_t size_;
  int64_t next_ = 0;
  Batch batch_;
};

/// One replica, as the Trainer joins its parts, with the strategy none.
class Stepper {
 public:
  Stepper(const ProfileRequest& request, const ExecutorEntry& entry, const Options& node)
      : request_(request),
        params_(request.graph.layout(), Cpu()),
        states_(request.graph.MakeStates()),
        gradients_(request.graph.layout(), Cpu()),
        state_(request.graph.layout(), request.rule, Cpu()),
        learning_rate_(request.learning_rate) {
    const std::string reason = entry.supports({&Cpu()});
    Require(reason.empty(), "executor {} {}", entry.name, reason);
    Restart();
    if (entry.step_examples)
      step_examples_ = entry.step_examples(node, request.batch, request.data.Size());
    executor_ = entry.make(node, {.graph = request.graph,
                                  .batch = request.batch,
                                  .step_examples = step_examples_,
                                  .arithmetic = request.arithmetic,
                                  .reference_kernels = request.reference_kernels,
                                  .threads = request.threads,
                                  .rule = &request.rule,
                                  .state = &state_,
                                  .clip_norm = request.clip_norm});
  }

  bool in_place() const { return executor_->in_place(); }
  int64_t step_examples() const { return step_examples_ > 0 ? step_examples_ : request_.batch; }
  Cost UpdateCost() const { return CostOfUpdate(state_, request_.graph.layout().dense_size()); }

  void Step(const Batch& batch) {
    ParamView view = params_.View(&gradients_);
    view.states = &states_;
    const double part =
        std::min(1.0, static_cast<double>(batch.size) / static_cast<double>(step_examples()));
    const StepResult result =
        executor_->Step(batch, view, {.learning_rate = part * learning_rate_});
    if (executor_->in_place())
      params_.Publish();
    else
      Update(part * learning_rate_, request_.clip_norm);
    examples_ += batch.size;
    if (std::isfinite(result.loss)) return;
    learning_rate_ /= 10;
    examples_ = request_.examples;
  }

  /// Starts again where the job's training is over.
  void Prepare() {
    if (request_.examples > 0 && examples_ >= request_.examples) Restart();
  }

  /// The median seconds of its updates so far; 0: there were none.
  double UpdateSeconds() const { return updates_.empty() ? 0 : Median(updates_); }

 private:
  void Update(double learning_rate, double clip_norm) {
    const double began = Now();
    Apply(params_, {.rule = request_.rule,
                    .state = state_,
                    .gradients = gradients_,
                    .learning_rate = learning_rate,
                    .clip_norm = clip_norm});
    updates_.push_back(Now() - began);
  }

  void Restart() {
    examples_ = 0;
    Initialize(params_, request_.seed, KernelThreads());
    for (size_t i = 0; i < state_.names().size(); ++i) Fill(state_.array(static_cast<int>(i)), 0);
    params_.Publish();
  }

  const ProfileRequest& request_;
  int64_t step_examples_ = 0;
  ParamStore params_;
  LayerStates states_;
  Gradients gradients_;
  RuleState state_;
  double learning_rate_;
  int64_t examples_ = 0;  // since the initial values
  std::vector<double> updates_;
  std::unique_ptr<Executor> executor_;
};

/// What is measured at one batch.
struct Measured {
  Measured(const ProfileRequest& request, Stepper& stepper, int64_t size)
      : batches(std::make_unique<Batches>(request, size)),
        timer(
            [&request, &stepper, from = batches.get()] {
              stepper.Prepare();
              if (!request.reads_in_step) from->Read();
            },
            [&request, &stepper, from = batches.get()] {
              if (request.reads_in_step) from->Read();
              stepper.Step(from->batch());
            }) {}
  StepTime Result() const {
    return {.batch = batches->size(),
            .seconds = timer.Seconds(),
            .sigma = timer.Sigma(),
            .steps = timer.steps()};
  }

  std::unique_ptr<Batches> batches;
  StepTimer timer;
};

/// Quarter to four times the job's batch: different ones, as far as there are data.
std::vector<int64_t> Sizes(int64_t batch, int64_t examples) {
  std::vector<int64_t> sizes = {batch / 4, batch / 2, batch, 2 * batch, 4 * batch};
  std::erase_if(sizes, [&](int64_t size) { return size < 1 || size > examples; });
  return sizes;
}

/// The steps of each batch: the job's in one go, which is its training from the beginning, for
/// twice the time of another; then the others by turns.
std::vector<StepTime> MeasureSteps(const ProfileRequest& request, Stepper& stepper,
                                   double seconds) {
  const int64_t usual = std::min(request.batch, request.data.Size());
  const std::vector<int64_t> sizes = Sizes(usual, request.data.Size());
  const double each = seconds / static_cast<double>(sizes.size() + 1);
  std::vector<Measured> all;
  all.reserve(sizes.size());
  Measured& job = all.emplace_back(request, stepper, usual);
  job.timer.Visit(2 * each, kLeastSteps, kMostOfTraining);
  const double example = job.timer.Seconds() / static_cast<double>(usual);
  for (const int64_t size : sizes)
    if (size != usual && kLeastSteps * example * double(size) < kTooLong * each)
      all.emplace_back(request, stepper, size);
  for (int round = 0; round < kRounds; ++round)
    for (Measured& one : std::span(all).subspan(1))
      one.timer.Visit(each / kRounds, kLeastSteps / kRounds);
  std::vector<StepTime> steps;
  steps.reserve(all.size());
  for (const Measured& one : all) steps.push_back(one.Result());
  std::ranges::sort(steps, {}, &StepTime::batch);
  return steps;
}

/// Bytes per second of adding vectors of 4 MiB: what a model without dense values tells nothing of.
double SpeedOfSums(double seconds) {
  std::vector<float> sum(1 << 20), part(sum.size());
  StepTimer timer([] {}, [&] { AddScaled(Values(sum), 0.5F, ConstValues(part)); });
  timer.Visit(seconds);
  return 12 * static_cast<double>(sum.size()) / timer.Seconds();
}

SpeedCurve Fit(const ProfileRequest& request, const Cost& update, const MachineProfile& profile) {
  FitRequest fit = {.points = {},
                    .update = update,
                    .bytes_per_second = profile.bytes_per_second,
                    .threads = profile.threads};
  const int64_t usual = std::min(request.batch, request.data.Size());
  for (const StepTime& step : profile.steps) {
    if (step.batch == usual) fit.at = fit.points.size();
    fit.points.push_back(
        {.batch = step.batch, .seconds = step.seconds, .pass = request.graph.Price(step.batch)});
  }
  return FitSpeedCurve(fit);
}

/// The seconds of a step of the request's executor on such a machine, by the executor's estimate.
double Predict(const ProfileRequest& request, const Stepper& stepper, const SpeedCurve& curve) {
  const EstimateRequest on = {.graph = request.graph,
                              .update = stepper.UpdateCost(),
                              .batch = request.batch,
                              .step_examples = stepper.step_examples(),
                              .epoch = request.data.Size(),
                              .speeds = {{"cpu", curve}}};
  const double seconds = request.executor.estimate(request.node, on).seconds_per_example *
                         static_cast<double>(stepper.step_examples());
  return stepper.in_place() ? seconds
                            : seconds + curve.Seconds(on.update, {.examples = kManyExamples});
}

/// Measures the executor's own steps, and takes the curve to be slower or faster by as much as they
/// differ from its estimate.
void MeasureExecutor(const ProfileRequest& request, double seconds, MachineProfile& profile) {
  Stepper stepper(request, request.executor, request.node);
  Measured steps(request, stepper, stepper.step_examples());
  for (int round = 0; round < kRounds; ++round)
    steps.timer.Visit(seconds / kRounds, kLeastSteps / kRounds);
  profile.step = steps.Result();
  if (!request.executor.estimate) return;
  const double whole = static_cast<double>(profile.step.batch) / double(stepper.step_examples());
  profile.curve = Slower(profile.curve,
                         profile.step.seconds / (whole * Predict(request, stepper, profile.curve)));
}

}  // namespace

MachineProfile MeasureMachine(const ProfileRequest& request) {
  Check(request.batch > 0 && request.data.Size() > 0, "a profile needs a batch and examples");
  const ExecutorEntry& single = FindEntry(executors(), "executor", "single");
  const bool plain = request.executor.name == single.name;
  constexpr double kForSums = 0.05, kForExecutor = 0.25;  // of the time
  MachineProfile profile = {.threads = request.threads.threads};
  {
    Stepper stepper(request, single, Options());
    const double left = 1 - kForSums - (plain ? 0 : kForExecutor);
    profile.steps = MeasureSteps(request, stepper, left * request.seconds);
    const double bytes = stepper.UpdateCost().bytes;
    if (bytes > 0) profile.update_seconds = stepper.UpdateSeconds();
    profile.bytes_per_second =
        bytes > 0 ? bytes / profile.update_seconds : SpeedOfSums(kForSums * request.seconds);
    profile.curve = Fit(request, stepper.UpdateCost(), profile);
  }
  const int64_t usual = std::min(request.batch, request.data.Size());
  profile.step = *std::ranges::find(profile.steps, usual, &StepTime::batch);
  if (!plain) MeasureExecutor(request, kForExecutor * request.seconds, profile);
  return profile;
}

}  // namespace yoke
