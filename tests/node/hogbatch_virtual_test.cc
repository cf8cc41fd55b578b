// Hogbatch in virtual time: four CPU threads and a device with stated speeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/simulated.h"
#include "node/adaptive_batch_sizes.h"
#include "node/support/curves.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::hogbatch_virtual_test {

using testing_support::CpuCurve;
using testing_support::DrawnBatch;
using testing_support::Job;
using testing_support::JobSettings;
using testing_support::kThreads;
using testing_support::PartOfStep;
using testing_support::SameExamples;

constexpr int64_t kCpuBatch = 2, kDeviceBatch = 20, kRateExamples = 64;
constexpr double kRate = 1e-5;

SpeedCurve DeviceCurve() {
  return {.operations_per_second = 1e9,
          .half_batch = 10,
          .bytes_per_second = 1e10,
          .launch_seconds = 1e-5,
          .link_bytes_per_second = 1e9};
}

/// What a round was.
struct Outcome {
  std::vector<float> change;  ///< Of the values.
  std::vector<DeviceWork> work;
  Value state;  ///< The executor's, for a checkpoint.
  int64_t updates = 0;
  double seconds = 0;

  /// "size", "least", "updates" or "asked" of a device's batches; -1: not there.
  int64_t Of(const std::string& device, const char* key) const {
    const Value* value = state.Find("batches")->Find(device)->Find(key);
    return value ? *value->AsInt() : -1;
  }
  /// Fraction of the examples that the device computed.
  double DevicePart() const {
    return double(work[1].examples) / double(work[0].examples + work[1].examples);
  }
};

class HogbatchInVirtualTime : public testing::Test {
 protected:
  JobSettings Settings(const std::string& executor, const char* merge = "add") {
    JobSettings settings{.batch = kRateExamples,
                         .devices = {&Cpu(), device_.get()},
                         .learning_rate = kRate,
                         .executor = executor,
                         .node = {{"hogbatch_device_batch", kDeviceBatch}, {"merge", merge}},
                         .rule = "sgd",
                         .widths = {8}};
    if (executor == "hogbatch") settings.node.emplace_back("hogbatch_cpu_batch", kCpuBatch);
    return settings;
  }

  /// Trains a round of one batch.
  static Outcome Round(const JobSettings& settings, const Batch& batch,
                       const SpeedCurve& device = DeviceCurve()) {
    Outcome outcome;
    const DeviceTime speeds = [&](int, const Cost& cost, const WorkPlace& place) {
      return (place.device == "cpu" ? CpuCurve() : device).Seconds(cost, place);
    };
    Simulate({.devices = speeds, .cpu_threads = kThreads}, [&](const Communicator& world) {
      JobSettings own = settings;
      own.world = world;
      Job job(own);
      outcome.change = job.Values();
      EXPECT_EQ(job.Run(batch).examples, batch.size);
      outcome.seconds = world.Now();
      const std::vector<float> after = job.Values();
      for (size_t i = 0; i < after.size(); ++i) outcome.change[i] = after[i] - outcome.change[i];
      outcome.work = job.executor().Work();
      outcome.state = job.executor().State();
      outcome.updates = job.state().steps;
    });
    return outcome;
  }

  /// Of a thread's update and of the device's, which is merged on the CPU; it also copies the
  /// values to where the device gets them and the gradient from where it puts it.
  std::pair<double, double> UpdateSeconds(int64_t cpu_batch, int64_t device_batch) {
    Job job(Settings("hogbatch"));  // for its costs
    const auto parameters = double(job.graph().layout().size());
    const Cost update = CostOfUpdate(job.state(), job.graph().layout().size());
    Cost by_thread = job.graph().Price(cpu_batch), by_device = job.graph().Price(device_batch);
    by_thread += update;
    by_device.device_bytes = 2 * 4 * parameters;  // the values there, the gradient back
    Cost on_host = update;
    on_host.bytes += 2 * by_device.device_bytes;  // read and written
    return {CpuCurve().Seconds(by_thread, {.examples = cpu_batch, .threads = kThreads}),
            DeviceCurve().Seconds(by_device, {.examples = device_batch}) +
                CpuCurve().Seconds(on_host, {.examples = device_batch, .threads = kThreads})};
  }

  std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
};

TEST_F(HogbatchInVirtualTime, IsTheSameTwice) {
  const Batch batch = DrawnBatch(600, 0);
  for (const char* executor : {"hogbatch", "adaptive_hogbatch"}) {
    const Outcome a = Round(Settings(executor), batch), b = Round(Settings(executor), batch);
    EXPECT_EQ(a.change, b.change) << executor;
    EXPECT_EQ(a.seconds, b.seconds) << executor;
    EXPECT_GT(a.seconds, 0) << executor;
    for (size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(a.work[d].examples, b.work[d].examples) << executor;
      EXPECT_EQ(a.work[d].updates, b.work[d].updates) << executor;
      EXPECT_EQ(a.work[d].busy, b.work[d].busy) << executor;
      EXPECT_EQ(a.work[d].staleness, b.work[d].staleness) << executor;
      EXPECT_GT(a.work[d].updates, 0) << executor;
    }
  }
}

/// n examples take n / (threads b / t + B / T) seconds, with updates of b examples in t seconds by
/// a thread and of B in T by the device.
TEST_F(HogbatchInVirtualTime, TakesTheTimesThatTheSpeedsSay) {
  const Batch batch = DrawnBatch(6000, 0);
  const Outcome outcome = Round(Settings("hogbatch"), batch);

  const auto [thread_seconds, device_seconds] = UpdateSeconds(kCpuBatch, kDeviceBatch);
  const double rate = kThreads * kCpuBatch / thread_seconds + kDeviceBatch / device_seconds;
  const double seconds = double(batch.size) / rate;

  constexpr double kWithin = 0.02;
  EXPECT_NEAR(outcome.seconds / seconds, 1, kWithin);
  EXPECT_NEAR(double(outcome.work[0].updates) / (seconds * kThreads / thread_seconds), 1, kWithin);
  EXPECT_NEAR(double(outcome.work[1].updates) / (seconds / device_seconds), 1, kWithin);
  EXPECT_EQ(outcome.work[0].updates + outcome.work[1].updates, outcome.updates);
  for (const DeviceWork& work : outcome.work) EXPECT_NEAR(work.busy, 1, kWithin) << work.name;
  EXPECT_NEAR(outcome.work[1].staleness / (kThreads * device_seconds / thread_seconds), 1, kWithin);
}

/// The change of the values, divided by what all examples add if each takes its part of the rate.
double PartOf(const Outcome& outcome, const Batch& batch) {
  return PartOfStep(outcome.change,
                    {.batch = batch.size,
                     .learning_rate = kRate * double(batch.size) / kRateExamples,
                     .rule = "sgd",
                     .widths = {8}},
                    batch);
}

/// A small rate hardly changes the gradient: each example adds the same, unless it is lost.
TEST_F(HogbatchInVirtualTime, LosesUpdatesOnlyWhereADeviceOverwrites) {
  const Batch batch = SameExamples(1000);
  const Outcome add = Round(Settings("hogbatch"), batch);
  const Outcome overwrite = Round(Settings("hogbatch", "overwrite"), batch);
  EXPECT_NEAR(PartOf(add, batch), 1, 0.01);
  EXPECT_EQ(Round(Settings("hogbatch", "locked"), batch).change, add.change);
  EXPECT_NEAR(PartOf(overwrite, batch), overwrite.DevicePart(), 0.03);
  EXPECT_LT(overwrite.DevicePart(), 0.8);
  EXPECT_EQ(overwrite.updates, add.updates);  // lost ones are counted
}

/// Threads whose batches grow to that of the rate: as published each takes the whole rate.
TEST_F(HogbatchInVirtualTime, ThreadsTakeTheRateTogetherUnlessAsPublished) {
  const Batch batch = SameExamples(1000);
  JobSettings settings = Settings("adaptive_hogbatch");
  settings.devices = {&Cpu()};
  settings.node.emplace_back("adaptive_cpu_least", kRateExamples);
  EXPECT_NEAR(PartOf(Round(settings, batch), batch), 1.0 / kThreads, 0.02);
  settings.node.emplace_back("form", "paper");
  EXPECT_NEAR(PartOf(Round(settings, batch), batch), 1, 0.02);
}

/// Steps of 4 examples, and a round that ends before each thread has had a batch.
TEST_F(HogbatchInVirtualTime, ThreadsTakeTheRateTogetherInShortRoundsToo) {
  constexpr int64_t kOwn = kRateExamples / kThreads;
  const Batch batch = SameExamples(2 * kOwn);
  JobSettings settings = Settings("adaptive_hogbatch");
  settings.batch = 4;
  settings.devices = {&Cpu()};
  settings.node.emplace_back("adaptive_cpu_least", kOwn);
  EXPECT_NEAR(PartOf(Round(settings, batch), batch), 1, 0.02);
}

/// A GPU that is 1.5 times the CPU, and needs 100 examples for half of its speed. As published each
/// update of a thread is of 1 example, and the CPU makes nearly all; adaptive, neither crowds out
/// the other.
TEST_F(HogbatchInVirtualTime, TheCpusShareOfTheUpdatesIsThatOfThePaper) {
  const SpeedCurve gpu = {.operations_per_second = 6e8,
                          .half_batch = 100,
                          .bytes_per_second = 1e10,
                          .launch_seconds = 1e-5,
                          .link_bytes_per_second = 1e9};
  const Batch batch = DrawnBatch(12000, 0);
  for (const char* form : {"paper", "yoke"})
    for (const std::string executor : {"hogbatch", "adaptive_hogbatch"}) {
      JobSettings settings = Settings(executor);
      settings.node = {{"form", form}, {"hogbatch_device_batch", 1024}};
      const Outcome outcome = Round(settings, batch, gpu);
      const double share = double(outcome.work[0].updates) / double(outcome.updates);
      if (executor == "hogbatch") {
        EXPECT_GE(share, 0.85) << form;
        const bool ones = outcome.work[0].examples == outcome.work[0].updates;
        EXPECT_EQ(ones, form == std::string("paper"));
      } else {
        EXPECT_GE(share, 0.5) << form;
        EXPECT_LE(share, 0.81) << form;
      }
    }
}

/// Where the CPU is ahead with its largest batches beside the device's least, both stay there: the
/// shares are those of the times of an update, however far from equal.
TEST_F(HogbatchInVirtualTime, AdaptiveAtBothLimitsHasTheSharesOfTheTimes) {
  JobSettings settings = Settings("adaptive_hogbatch");
  settings.node = {{"form", "paper"},
                   {"adaptive_cpu_most", kCpuBatch},
                   {"adaptive_device_least", 2 * kDeviceBatch},
                   {"hogbatch_device_batch", 4 * kDeviceBatch}};
  const Outcome outcome = Round(settings, DrawnBatch(12000, 0));
  const auto [thread, device] = UpdateSeconds(kCpuBatch, 2 * kDeviceBatch);
  const double expected = kThreads / thread / (kThreads / thread + 1 / device);
  EXPECT_GT(expected, 0.81);  // the most in the paper
  EXPECT_NEAR(double(outcome.work[0].updates) / double(outcome.updates), expected, 0.01);
  EXPECT_NEAR(double(outcome.work[0].examples) / double(outcome.work[0].updates), kCpuBatch, 0.1);
}

/// Of a pass alone, with copies: what is left of `most` at half of the device's speed.
int64_t LeastOf(int64_t most, const Graph& graph, const SpeedCurve& device) {
  return LeastBatch(most, [&](int64_t size) {
    Cost cost = graph.Price(size);
    cost.device_bytes = 2.0 * 4 * double(graph.layout().size());
    return device.Seconds(cost, {.examples = size});
  });
}

/// Each device alone would measure with all of the round.
TEST_F(HogbatchInVirtualTime, MeasuresTheLeastBatchOfEachDevice) {
  const auto other = NewEmulatedDevice(1, {});
  for (const char* form : {"paper", "yoke"})
    for (const bool with_cpu : {false, true}) {
      JobSettings settings = Settings("adaptive_hogbatch");
      settings.devices = {device_.get(), other.get()};
      if (with_cpu) settings.devices.push_back(&Cpu());
      settings.node = {{"form", form}};
      const Outcome outcome = Round(settings, DrawnBatch(640, 0));
      const int64_t least = LeastOf(640, Job(settings).graph(), DeviceCurve());
      for (const char* name : {"emulated:0", "emulated:1"}) {
        if (form == std::string("paper"))
          EXPECT_EQ(outcome.Of(name, "least"), least) << name << with_cpu;
        else
          EXPECT_GT(outcome.Of(name, "least"), 1) << name << with_cpu;
      }
    }
}

/// Near the end of a round a device asks for batches that it does not get.
TEST_F(HogbatchInVirtualTime, SizesMoveWithBatchesAlone) {
  JobSettings settings = Settings("adaptive_hogbatch");
  settings.node = {{"hogbatch_device_batch", 64}, {"adaptive_device_least", 2}};
  const Outcome outcome = Round(settings, DrawnBatch(600, 0));
  EXPECT_EQ(outcome.Of("emulated:0", "asked"), outcome.work[1].updates);
}

/// Ma and Rusu: from 1 to 64 examples a thread; a device at most 8192, and no less than keeps it
/// half busy. The threads, which are ahead here, come to their most.
TEST_F(HogbatchInVirtualTime, LimitsByDefaultAreThePapers) {
  SpeedCurve slow = DeviceCurve();
  slow.operations_per_second = 1e6;
  slow.half_batch = 500;
  JobSettings settings = Settings("adaptive_hogbatch");
  settings.node = {{"form", "paper"}};
  Job job(settings);
  const Outcome start = {.state = job.executor().State()};
  EXPECT_EQ(start.Of("cpu", "size"), 1);
  EXPECT_EQ(start.Of("cpu", "least"), 1);
  EXPECT_EQ(start.Of("emulated:0", "size"), 8192);
  EXPECT_EQ(start.Of("emulated:0", "least"), -1);

  const Outcome end = Round(settings, DrawnBatch(9000, 0), slow);
  EXPECT_EQ(end.Of("cpu", "size"), 64);
  EXPECT_EQ(end.work[1].examples, 8192 / 2);  // it measured with 8192, and was behind then
  EXPECT_EQ(end.work[1].updates, 1);
  EXPECT_EQ(end.Of("emulated:0", "least"), LeastOf(8192, job.graph(), slow));
  EXPECT_GT(end.Of("emulated:0", "least"), 8192 / 64);
}

TEST_F(HogbatchInVirtualTime, EndsWhereADevicesSpeedIsNotKnown) {
  EXPECT_THROW(Simulate({.cpu_threads = kThreads},
                        [&](const Communicator& world) {
                          JobSettings settings = Settings("hogbatch");
                          settings.world = world;
                          Job(settings).Run(DrawnBatch(600, 0));
                        }),
               UserError);
}

}  // namespace yoke::hogbatch_virtual_test
