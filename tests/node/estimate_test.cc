// Estimates of executors: against virtual time, where the executors train with real gradients.
#include "node/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/registry.h"
#include "comm/simulated.h"
#include "node/support/curves.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::estimate_test {

using testing_support::CpuCurve;
using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;
using testing_support::kThreads;

constexpr int64_t kMost = 6000;  // examples

/// `faster` times as fast as the CPU on large batches.
SpeedCurve DeviceCurve(double faster) {
  return {.operations_per_second = faster * 4e8,
          .half_batch = 10,
          .bytes_per_second = faster * 8e8,
          .launch_seconds = 1e-5,
          .link_bytes_per_second = 1e9};
}

struct Case {
  double faster = 1;
  bool sparse = false;
  int64_t batch = 64;
  Table node = {};  ///< The executor's options.

  /// Enough that the first and last pieces of work hardly count.
  int64_t Epoch() const { return faster > 1 ? kMost : kMost / 2; }
  JobSettings Settings(const std::string& executor, const std::vector<Device*>& devices) const {
    return {.batch = batch,
            .devices = devices,
            .learning_rate = 1e-5,
            .executor = executor,
            .node = node,
            .rule = sparse ? "sgd" : "momentum",
            .widths = sparse ? std::vector<int64_t>{64, 32} : std::vector<int64_t>{8},
            .sparse = sparse};
  }
};

/// Speeds and models, each with one of two batches.
std::vector<Case> Cases(const std::vector<double>& speeds, const std::string& small = "",
                        const std::string& large = "") {
  std::vector<Case> cases;
  for (const bool sparse : {false, true})
    for (const double faster : speeds) {
      const int64_t size = 1 + std::ssize(cases) % 3 % 2;
      Case made{.faster = faster, .sparse = sparse, .batch = 64 * size};
      if (!small.empty()) made.node.emplace_back(small, 2 * size);
      if (!large.empty()) made.node.emplace_back(large, 20 * size);
      cases.push_back(made);
    }
  return cases;
}
const std::vector<double> kSpeeds = {0.2, 1, 5, 30};

/// What was predicted, or done.
struct Outcome {
  double seconds = 0;           ///< Of an epoch.
  std::vector<double> updates;  ///< In an epoch, by device; or examples of an update.
  std::vector<double> busy;
};

class Estimates : public testing::Test {
 protected:
  static Outcome Predict(const JobSettings& settings, const Case& of) {
    const Job job(settings);
    const ExecutorEntry& entry = FindEntry(executors(), "executor", settings.executor);
    EstimateRequest request{
        .graph = job.graph(),
        .update = CostOfUpdate(job.state(), job.graph().layout().dense_size()),
        .batch = settings.batch,
        .epoch = of.Epoch(),
        .devices = {},
        .speeds = {{"cpu", CpuCurve()}, {"emulated:0", DeviceCurve(of.faster)}}};
    for (const Device* device : settings.devices) request.devices.push_back(device->name());
    const ExecutorEstimate estimate =
        entry.estimate(Options("node", settings.node, entry.options), request);
    Outcome outcome{.seconds = double(of.Epoch()) * estimate.seconds_per_example};
    for (const ExecutorEstimate::Device& device : estimate.devices) {
      outcome.updates.push_back(settings.executor == "split"
                                    ? device.examples_per_update
                                    : device.updates_per_second * outcome.seconds);
      outcome.busy.push_back(device.busy);
    }
    return outcome;
  }

  /// An epoch in virtual time, in one round.
  static void TrainRound(Job& job, const Batch& epoch, Outcome& outcome) {
    job.Run(epoch);
    outcome.updates = {double(job.state().steps)};
    const std::vector<DeviceWork> work = job.executor().Work();
    if (!work.empty()) outcome.updates.clear();
    for (const DeviceWork& device : work) {
      outcome.updates.push_back(double(device.updates));
      outcome.busy.push_back(device.busy);
    }
  }

  /// A step, after some in which devices are measured.
  static void TrainSteps(Job& job, const Batch& batch, Outcome& outcome) {
    constexpr int kFirst = 12;
    std::vector<DeviceWork> before;
    for (int step = 0; step <= kFirst; ++step) {
      before = job.executor().Work();
      outcome.seconds = job.Run(batch).seconds;
    }
    const std::vector<DeviceWork> work = job.executor().Work();
    for (size_t d = 0; d < work.size(); ++d)
      outcome.updates.push_back(double(work[d].examples - before[d].examples));
  }

  static Outcome Train(const JobSettings& settings, const Case& of, const Batch& examples) {
    Outcome outcome;
    const DeviceTime speeds = [&](int, const Cost& cost, const WorkPlace& place) {
      return (place.device == "cpu" ? CpuCurve() : DeviceCurve(of.faster)).Seconds(cost, place);
    };
    Simulate({.devices = speeds, .cpu_threads = kThreads}, [&](const Communicator& world) {
      JobSettings own = settings;
      own.world = world;
      Job job(own);
      Batch batch;
      TakeSubBatch(examples, 0, job.executor().in_place() ? of.Epoch() : of.batch, batch);
      if (!job.executor().in_place()) {
        TrainSteps(job, batch, outcome);
        outcome.seconds *= double(of.Epoch()) / double(of.batch);
        return;
      }
      const double began = world.Now();
      TrainRound(job, batch, outcome);
      outcome.seconds = world.Now() - began;
    });
    return outcome;
  }

  void Compare(const std::string& executor, const std::vector<Case>& cases, double within) {
    constexpr double kWhole = 6;  // at an epoch's end a device halves its batches
    std::vector<Device*> devices = {&Cpu()};
    if (executor != "hogwild") devices.push_back(device_.get());
    for (const Case& of : cases) {
      const JobSettings settings = of.Settings(executor, devices);
      const Outcome said = Predict(settings, of);
      const Outcome done = Train(settings, of, of.sparse ? kSparse : kDense);
      std::string line =
          fmt::format("{}, device {}x, {}, batch {}: seconds {:.4g} of {:.4g}", executor, of.faster,
                      of.sparse ? "sparse" : "dense", of.batch, said.seconds, done.seconds);
      for (size_t d = 0; d < done.updates.size(); ++d)
        line += fmt::format("; {:.0f} of {:.0f}", said.updates[d], done.updates[d]);
      for (size_t d = 0; d < done.busy.size(); ++d)
        line += fmt::format("; busy {:.2f} of {:.2f}", said.busy[d], done.busy[d]);
      EXPECT_NEAR(said.seconds / done.seconds, 1, within) << line;
      for (size_t d = 0; d < done.updates.size(); ++d)
        EXPECT_NEAR(said.updates[d], done.updates[d], within * done.updates[d] + kWhole) << line;
      for (size_t d = 0; d < done.busy.size(); ++d)
        EXPECT_NEAR(said.busy[d], done.busy[d], within) << line;
    }
  }

  std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
  inline static const Batch kDense = DrawnBatch(kMost, 0), kSparse = DrawnSparseBatch(kMost, 0);
};

TEST_F(Estimates, OfSplit) {
  std::vector<Case> cases = Cases(kSpeeds);
  cases.push_back({.faster = 30, .batch = 256});
  Compare("split", cases, 0.05);
}
TEST_F(Estimates, OfHogwild) { Compare("hogwild", Cases({1}, "hogwild_batch"), 0.05); }
TEST_F(Estimates, OfHogbatch) {
  Compare("hogbatch", Cases(kSpeeds, "hogbatch_cpu_batch", "hogbatch_device_batch"), 0.05);
}
TEST_F(Estimates, OfAdaptiveHogbatch) {
  Compare("adaptive_hogbatch", Cases(kSpeeds, "", "hogbatch_device_batch"), 0.1);
}

}  // namespace yoke::estimate_test
