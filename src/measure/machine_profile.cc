// MachineProfile: a replica's parts without strategy, stepped at several batches.
#include "measure/machine_profile.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/registry.h"
#include "measure/device_profile.h"
#include "measure/speed_fit.h"
#include "measure/stepper.h"

namespace yoke {
namespace {

SpeedCurve Fit(const ProfileRequest& request, const Cost& update, const MachineProfile& profile) {
  FitRequest fit = {.points = {},
                    .update = update,
                    .bytes_per_second = profile.bytes_per_second,
                    .threads = profile.threads,
                    .through_all = request.devices.size() > 1};
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
  Stepper stepper(request, request.executor, request.node, {&Cpu()});
  TimedSteps steps(request, stepper, stepper.step_examples(), request.reads_in_step);
  for (int round = 0; round < kRounds; ++round)
    steps.timer.Visit(seconds / kRounds, kLeastSteps / kRounds);
  profile.step = steps.Result();
  if (!request.executor.estimate) return;
  const double whole = static_cast<double>(profile.step.batch) / double(stepper.step_examples());
  profile.curve = Slower(profile.curve,
                         profile.step.seconds / (whole * Predict(request, stepper, profile.curve)));
}

/// Measures the update of the dense values and the speed of arithmetic on values. With several
/// devices in steps of `split` on all of them, whose copies and gradients leave less of the values
/// in caches than the CPU's steps alone.
void MeasureUpdate(const ProfileRequest& request, const Stepper& on_cpu, double seconds,
                   MachineProfile& profile) {
  const double bytes = on_cpu.UpdateCost().bytes;
  if (bytes == 0) {
    profile.bytes_per_second = SpeedOfSums(Cpu(), seconds);
    return;
  }
  profile.update_seconds = on_cpu.UpdateSeconds();
  if (request.devices.size() > 1) {
    const ExecutorEntry& split = FindEntry(executors(), "executor", "split");
    Stepper on_all(request, split, Options("node", Table{}, split.options), request.devices);
    TimedSteps(request, on_all, request.batch, /*reads_in_step=*/true).timer.Visit(seconds);
    profile.update_seconds = on_all.UpdateSeconds();
  }
  profile.bytes_per_second = bytes / profile.update_seconds;
}

/// The update, and the steps and the curve of the CPU.
MachineProfile MeasureCpu(const ProfileRequest& request, double seconds) {
  const ExecutorEntry& single = FindEntry(executors(), "executor", "single");
  const bool plain = request.executor.name == single.name;
  const bool several = request.devices.size() > 1;
  const double for_update = several ? 0.15 : 0.05, for_executor = plain ? 0 : 0.25;  // of the time
  MachineProfile profile = {.threads = request.threads.threads};
  {
    Stepper stepper(request, single, Options(), {&Cpu()});
    DevicesAtWork at_work(request, Cpu());
    profile.steps = TimeSteps(request, stepper, (1 - for_update - for_executor) * seconds,
                              request.reads_in_step);
    at_work.End();
    MeasureUpdate(request, stepper, for_update * seconds, profile);
    profile.curve = Fit(request, stepper.UpdateCost(), profile);
  }
  const int64_t usual = std::min(request.batch, request.data.Size());
  profile.step = *std::ranges::find(profile.steps, usual, &StepTime::batch);
  if (!plain) MeasureExecutor(request, for_executor * seconds, profile);
  return profile;
}

}  // namespace

MachineProfile MeasureMachine(const ProfileRequest& request) {
  Check(request.batch > 0 && request.data.Size() > 0, "a profile needs a batch and examples");
  std::vector<Device*> others = request.devices;
  std::erase(others, &Cpu());
  const double each = request.seconds / static_cast<double>(1 + others.size());
  MachineProfile profile = MeasureCpu(request, each);
  for (Device* device : others) {
    DevicesAtWork at_work(request, *device);
    profile.devices[device->name()] = MeasureDevice(request, *device, profile.curve, each);
    at_work.End();
  }
  return profile;
}

}  // namespace yoke
