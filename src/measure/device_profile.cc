// MeasureDevice: steps of the executor single with the values on the host.
#include "measure/device_profile.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/registry.h"
#include "base/thread.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "measure/speed_fit.h"
#include "measure/stepper.h"
#include "node/estimate.h"

namespace yoke {
namespace {

/// A pass takes at least this part of a step, whatever is taken off.
constexpr double kLeastPass = 0.1;

const ExecutorEntry& Single() { return FindEntry(executors(), "executor", "single"); }

/// Bytes per second between the memories of the host and the device, by copies of all values there
/// and of the gradient back.
double SpeedOfLink(const ParamLayout& layout, Device& device, double seconds) {
  const double bytes = CopiedBytes(layout);
  if (bytes == 0) return 0;
  const int64_t values = layout.size() * SizeOf(DType::kF32);
  const int64_t gradient = layout.dense_size() * SizeOf(DType::kF32);
  const Buffer host(device.staging(), values), there(device, values);
  const std::unique_ptr<Stream> stream = device.NewStream();
  StepTimer timer([] {},
                  [&] {
                    stream->Copy(there.data(), host.data(), values);
                    stream->Copy(host.data(), there.data(), gradient);
                    stream->Wait();
                  });
  timer.Visit(seconds);
  return bytes / timer.Seconds();
}

}  // namespace

double SpeedOfSums(Device& device, double seconds) {
  const Buffer sum(device, 4 << 20), part(device, sum.bytes());
  StepTimer timer([] {},
                  [&] {
                    AddScaled(AllOf<float>(sum), 0.5F, AllOf<float>(part));
                    device.stream().Wait();
                  });
  timer.Visit(seconds);
  return 3 * static_cast<double>(sum.bytes()) / timer.Seconds();
}

SpeedCurve MeasureDevice(const ProfileRequest& request, Device& device, const SpeedCurve& cpu,
                         double seconds) {
  constexpr double kForSums = 0.05, kForLink = 0.05;  // of the time
  const ParamLayout& layout = request.graph.layout();
  const double link = SpeedOfLink(layout, device, kForLink * seconds);
  FitRequest fit = {.points = {},
                    .bytes_per_second = SpeedOfSums(device, kForSums * seconds),
                    .through_all = true};
  Stepper stepper(request, Single(), Options(), {&device});
  const std::vector<StepTime> steps =
      TimeSteps(request, stepper, (1 - kForLink - kForSums) * seconds, /*reads_in_step=*/false);
  double others =
      stepper.UpdateSeconds() + cpu.Seconds(CostOfStaging(layout), {.examples = kManyExamples});
  if (link > 0) others += CopiedBytes(layout) / link;
  const int64_t usual = std::min(request.batch, request.data.Size());
  for (const StepTime& step : steps) {
    if (step.batch == usual) fit.at = fit.points.size();
    fit.points.push_back({.batch = step.batch,
                          .seconds = std::max(step.seconds - others, kLeastPass * step.seconds),
                          .pass = request.graph.Price(step.batch)});
  }
  SpeedCurve curve = FitSpeedCurve(fit);
  curve.link_bytes_per_second = link;
  return curve;
}

DevicesAtWork::DevicesAtWork(const ProfileRequest& request, const Device& but)
    : request_(request), failures_(request.devices.size()) {
  if (std::ranges::count(request.devices, &but) == 0) return;
  try {
    for (size_t d = 0; d < request.devices.size(); ++d) {
      Device& device = *request.devices[d];
      if (&device == &but) continue;
      ++starting_;
      threads_.push_back(StartThread([this, &device, d] { Work(device, failures_[d]); }));
    }
  } catch (...) {
    Join();
    throw;
  }
  for (int left = starting_; left > 0; left = starting_) starting_.wait(left);
}

void DevicesAtWork::End() {
  Join();
  for (const std::exception_ptr& failure : failures_)
    if (failure) std::rethrow_exception(failure);
}

void DevicesAtWork::Work(Device& device, std::exception_ptr& failure) {
  bool started = false;
  const auto start = [&] {
    if (std::exchange(started, true)) return;
    --starting_;
    starting_.notify_all();
  };
  try {
    SetKernelThreads(request_.threads.threads);
    Stepper stepper(request_, Single(), Options(), {&device});
    Batches batches(request_, request_.batch, stepper.takes_stored());
    while (!ends_) {
      stepper.Prepare();
      batches.Read();
      stepper.Step(batches.batch());
      start();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  start();
}

void DevicesAtWork::Join() {
  ends_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace yoke
