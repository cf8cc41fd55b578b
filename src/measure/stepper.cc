// Stepper: the parts, and the sizes of batches that are timed.
#include "measure/stepper.h"

#include <algorithm>
#include <span>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/registry.h"
#include "base/stop.h"
#include "base/work_label.h"
#include "comm/threads.h"
#include "kernels/losses.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "optim/rule.h"

namespace yoke {
namespace {

constexpr int kMostOfTraining = 2000;  // steps of the job's batch
/// Other batches than the job's are left out if their steps would take so many times the time for
/// them.
constexpr double kTooLong = 3;

/// Quarter to four times the job's batch: different ones, as far as there are data. With several
/// devices also less and more, since executors give each its own.
std::vector<int64_t> Sizes(const ProfileRequest& request, int64_t batch) {
  std::vector<int64_t> sizes = {batch / 4, batch / 2, batch, 2 * batch, 4 * batch};
  if (request.devices.size() > 1) sizes.insert(sizes.end(), {batch / 16, 8 * batch});
  std::erase_if(sizes, [&](int64_t size) { return size < 1 || size > request.data.Size(); });
  return sizes;
}

}  // namespace

Stepper::Stepper(const ProfileRequest& request, const ExecutorEntry& entry, const Options& node,
                 const std::vector<Device*>& devices)
    : request_(request),
      takes_stored_(!std::ranges::all_of(devices, &Device::IsHost)),
      params_(request.graph.layout(), Cpu()),
      states_(request.graph.MakeStates()),
      gradients_(request.graph.layout(), Cpu()),
      state_(request.graph.layout(), request.rule, Cpu()),
      learning_rate_(request.learning_rate) {
  const std::string reason = entry.supports(devices);
  Require(reason.empty(), "executor {} {}", entry.name, reason);
  TouchFirst(params_);
  Restart();
  if (entry.step_examples)
    step_examples_ = entry.step_examples(node, request.batch, request.data.Size());
  executor_ = entry.make(node, {.graph = request.graph,
                                .batch = request.batch,
                                .step_examples = step_examples_,
                                .arithmetic = request.arithmetic,
                                .reference_kernels = request.reference_kernels,
                                .devices = devices,
                                .threads = request.threads,
                                .rule = &request.rule,
                                .state = &state_,
                                .clip_norm = request.clip_norm});
  strategy_ = FindEntry(strategies(), "strategy", "none")
                  .make(Options(), {.world = LocalWorld(),
                                    .params = params_,
                                    .gradients = gradients_,
                                    .rule = request.rule,
                                    .state = state_,
                                    .clip_norm = request.clip_norm,
                                    .updated_in_place = executor_->in_place()});
  step_.emplace(
      ReplicaStep::Parts{.executor = *executor_, .strategy = *strategy_, .states = &states_});
}

void Stepper::Step(const Batch& batch) {
  const double part =
      std::min(1.0, static_cast<double>(batch.size) / static_cast<double>(step_examples()));
  double computed = 0, cpu = 0;
  std::optional<WorkLabel> label;
  const StepResult result =
      step_->Take(batch, {.learning_rate = part * learning_rate_, .examples = batch.size}, [&] {
        label.emplace(Work{"", "update"});
        computed = Now();
        cpu = ThreadCpuSeconds();
      });
  if (!executor_->in_place()) {
    updates_.push_back(Now() - computed);
    update_cpu_.push_back(ThreadCpuSeconds() - cpu);
  }
  examples_ += batch.size;
  if (IsPossibleLoss(result.loss)) return;
  learning_rate_ /= 10;
  examples_ = request_.examples;
}

double Stepper::UpdateSeconds() const { return updates_.empty() ? 0 : Median(updates_); }
double Stepper::UpdateCpuSeconds() const { return update_cpu_.empty() ? 0 : Median(update_cpu_); }

void Stepper::Restart() {
  examples_ = 0;
  Initialize(params_, request_.seed, KernelThreads());
  state_ = RuleState(request_.graph.layout(), request_.rule, Cpu());
  params_.Publish();
}

Batches::Batches(const ProfileRequest& request, int64_t size, bool as_stored)
    : request_(request),
      order_(Permutation(request.data.Size(), Random({request.seed, 1}))),
      size_(std::min<int64_t>(size, std::ssize(order_))),
      as_stored_(as_stored) {}

void Batches::Read() {
  if (next_ + size_ > std::ssize(order_)) next_ = 0;
  const auto examples = std::span(order_).subspan(next_, size_);
  request_.data.Read({.examples = examples, .seed = request_.seed, .as_stored = as_stored_},
                     batch_);
  next_ += size_;
}

TimedSteps::TimedSteps(const ProfileRequest& request, Stepper& stepper, int64_t size,
                       bool reads_in_step)
    : batches(std::make_unique<Batches>(request, size, stepper.takes_stored())),
      timer(
          [reads_in_step, &stepper, from = batches.get()] {
            stepper.Prepare();
            if (!reads_in_step) from->Read();
          },
          [reads_in_step, &stepper, from = batches.get()] {
            if (reads_in_step) from->Read();
            stepper.Step(from->batch());
          },
          Now, request.stop) {}

StepTime TimedSteps::Result() const {
  return {.batch = batches->size(),
          .seconds = timer.Seconds(),
          .sigma = timer.Sigma(),
          .steps = timer.steps()};
}

MeanSteps::MeanSteps(const ProfileRequest& request)
    : stepper_(request, request.executor, request.node, {&Cpu()}),
      batches_(request, stepper_.step_examples()) {
  constexpr int kWarmUp = 2;
  Seconds(kWarmUp, [] {});
}

double MeanSteps::Seconds(int64_t steps, const std::function<void()>& after) {
  stepper_.ForgetUpdates();
  const double began = Now();
  for (int64_t i = 0; i < steps; ++i) {
    stepper_.Prepare();
    batches_.Read();
    stepper_.Step(batches_.batch());
    after();
  }
  return (Now() - began) / static_cast<double>(steps);
}

std::vector<StepTime> TimeSteps(const ProfileRequest& request, Stepper& stepper, double seconds,
                                bool reads_in_step) {
  const int64_t usual = std::min(request.batch, request.data.Size());
  const std::vector<int64_t> sizes = Sizes(request, usual);
  const double each = seconds / static_cast<double>(sizes.size() + 1);
  std::vector<TimedSteps> all;
  all.reserve(sizes.size());
  TimedSteps& job = all.emplace_back(request, stepper, usual, reads_in_step);
  job.timer.Visit(2 * each, kLeastSteps, kMostOfTraining);
  const double example = job.timer.Seconds() / static_cast<double>(usual);
  for (const int64_t size : sizes)
    if (size != usual && kLeastSteps * example * double(size) < kTooLong * each)
      all.emplace_back(request, stepper, size, reads_in_step);
  for (int round = 0; round < kRounds; ++round)
    for (TimedSteps& one : std::span(all).subspan(1))
      if (!StopIsAsked(request.stop)) one.timer.Visit(each / kRounds, kLeastSteps / kRounds);
  std::vector<StepTime> steps;
  steps.reserve(all.size());
  for (const TimedSteps& one : all)
    if (one.timer.steps() > 0) steps.push_back(one.Result());
  std::ranges::sort(steps, {}, &StepTime::batch);
  return steps;
}

}  // namespace yoke
