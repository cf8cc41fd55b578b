// Pipeline: the body on a device and the hashed head on the CPU are the whole on the CPU; how much
// of the time both work; models and devices that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/registry.h"
#include "base/support/near.h"
#include "comm/simulated.h"
#include "node/pipeline_times.h"
#include "node/support/breaking_device.h"
#include "node/support/curves.h"
#include "node/support/job.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::pipeline_test {

using testing_support::BreakingDevice;
using testing_support::CpuCurve;
using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;
using testing_support::kThreads;

/// A few of the outputs are active, and tables are rebuilt often.
Table Hashed(int64_t group) {
  return {{"type", "lsh_linear"}, {"outputs", 10},     {"share", 0.4},
          {"group", group},       {"rehash", "fixed"}, {"rehash_every", 2}};
}
List SparseLayers(int64_t group) {
  return {Table{{"type", "sparse_linear"}, {"outputs", 12}}, Table{{"type", "relu"}},
          Hashed(group)};
}
List DenseLayers(int64_t group) {
  return {Table{{"type", "convolution"}, {"outputs", 3}, {"kernel", 5}, {"stride", 4}},
          Table{{"type", "batch_norm"}},
          Table{{"type", "relu"}},
          Table{{"type", "flatten"}},
          Table{{"type", "dropout"}},
          Table{{"type", "linear"}, {"outputs", 12}},
          Table{{"type", "relu"}},
          Hashed(group)};
}

class PipelineTest : public testing::Test {
 protected:
  JobSettings OnBoth(List layers, int micro_batches, bool sparse = true) const {
    return {.layers = std::move(layers),
            .devices = {&Cpu(), device_.get()},
            .executor = "pipeline",
            .node = {{"micro_batches", micro_batches}},
            .rule = "adam",
            .sparse = sparse};
  }
  static JobSettings OnTheCpu(JobSettings settings) {
    settings.devices = {&Cpu()};
    settings.executor = "single";
    settings.node = {};
    return settings;
  }
  static Batch Drawn(const JobSettings& settings, int64_t size, uint64_t number) {
    return settings.sparse ? DrawnSparseBatch(size, number) : DrawnBatch(size, number);
  }

  const std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
};

TEST_F(PipelineTest, OfOneMicroBatchIsSingleBitForBit) {
  for (const bool sparse : {false, true})
    for (const int64_t group : {1, 4})
      for (const DType arithmetic : {DType::kF32, DType::kBf16}) {
        JobSettings settings = OnBoth(sparse ? SparseLayers(group) : DenseLayers(group), 1, sparse);
        settings.arithmetic = arithmetic;
        Job pipeline(settings), single(OnTheCpu(settings));
        for (uint64_t step = 0; step < 7; ++step) {
          const Batch batch = Drawn(settings, step == 3 ? 5 : 8, step);
          EXPECT_EQ(pipeline.Step(batch), single.Step(batch)) << sparse << group << step;
        }
        EXPECT_EQ(pipeline.Values(), single.Values()) << sparse << group;
      }
}

TEST_F(PipelineTest, OfSeveralIsSingleWithinRounding) {
  for (const int micro_batches : {2, 3, 8}) {
    const JobSettings settings = OnBoth(SparseLayers(1), micro_batches);  // sets of one example
    Job pipeline(settings), single(OnTheCpu(settings));
    for (uint64_t step = 0; step < 9; ++step) {
      const Batch batch = DrawnSparseBatch(step % 3 == 2 ? 3 : 8, step);
      EXPECT_NEAR(pipeline.Step(batch), single.Step(batch), 1e-5) << micro_batches << step;
    }
    for (const int slice : {0, 2})
      EXPECT_EQ(ValuesOf(pipeline.state().row_steps(slice)),
                ValuesOf(single.state().row_steps(slice)));
    test::ExpectNear(pipeline.Values(), single.Values(), 1e-4F);
  }
}

TEST_F(PipelineTest, TakesADeviceInEitherPlace) {
  JobSettings settings = OnBoth(SparseLayers(64), 2), turned = settings;
  std::ranges::reverse(turned.devices);
  Job one(settings), other(turned);
  for (uint64_t step = 0; step < 3; ++step)
    EXPECT_EQ(one.Step(DrawnSparseBatch(8, step)), other.Step(DrawnSparseBatch(8, step)));
  EXPECT_EQ(one.Values(), other.Values());
  for (Job* const job : {&one, &other})
    for (const DeviceWork& work : job->executor().Work()) {
      EXPECT_EQ(work.examples, work.name == "cpu" ? 0 : 24);
      EXPECT_EQ(work.updates, 3);
    }
}

TEST_F(PipelineTest, LearnsWithGroupsInMicroBatches) {
  for (const bool sparse : {false, true}) {
    const JobSettings settings = OnBoth(sparse ? SparseLayers(64) : DenseLayers(64), 3, sparse);
    Job job(settings);
    const Batch batch = Drawn(settings, 8, 0);
    const double first = job.Step(batch);
    for (int step = 0; step < 60; ++step) job.Step(batch);
    EXPECT_LT(job.Step(batch), 0.8 * first);
  }
}

TEST_F(PipelineTest, NamesTheLayerOfTheBodyWhereALossWentWrong) {
  Job job(OnBoth(SparseLayers(64), 2));
  job.params().values(1).Host()[5] = std::numeric_limits<float>::infinity();  // its bias
  EXPECT_FALSE(std::isfinite(job.Step(DrawnSparseBatch(8, 0))));
  EXPECT_EQ(job.executor().FirstNonFinite(), "sparse_linear1");
}

TEST_F(PipelineTest, GoesOnAfterABatchThatIsRefused) {
  Job job(OnBoth(SparseLayers(64), 2));
  Batch wrong = DrawnSparseBatch(8, 0), wild = DrawnSparseBatch(8, 0);
  wrong.classes[7] = 10;  // in the last micro-batch, while the first is under way
  wild.sparse.ids[1] = 40;
  for (const Batch* const batch : {&wrong, &wild}) EXPECT_THROW(job.Step(*batch), Error);
  EXPECT_TRUE(std::isfinite(job.Step(DrawnSparseBatch(8, 0))));
}

TEST_F(PipelineTest, EndsWithADeviceThatBreaks) {
  BreakingDevice device(3);
  JobSettings settings = OnBoth(SparseLayers(64), 2);
  settings.devices = {&Cpu(), &device};
  Job job(settings);
  EXPECT_THROW(
      {
        for (int step = 0; step < 4; ++step) job.Step(DrawnSparseBatch(8, 0));
      },
      std::exception);
}

TEST_F(PipelineTest, CountsHowMuchOfTheTimeBothWork) {
  Job job(OnBoth(SparseLayers(64), 4));
  for (uint64_t step = 0; step < 10; ++step) job.Step(DrawnSparseBatch(512, step));
  for (const DeviceWork& work : job.executor().Work()) {
    EXPECT_GT(work.busy, 0) << work.name;
    EXPECT_LT(work.busy, 1.01) << work.name;
  }
}

class PipelineInVirtualTime : public PipelineTest {
 protected:
  static SpeedCurve DeviceCurve() {
    return {.operations_per_second = 2e9,
            .half_batch = 2,
            .bytes_per_second = 1e10,
            .launch_seconds = 1e-6,
            .link_bytes_per_second = 1e10};
  }
  /// A body and a head that take about as long.
  JobSettings Settings(int micro_batches) const {
    const List layers = {Table{{"type", "flatten"}}, Table{{"type", "linear"}, {"outputs", 10}},
                         Table{{"type", "linear"}, {"outputs", 400}}, Table{{"type", "relu"}},
                         Hashed(64)};
    JobSettings settings = OnBoth(layers, micro_batches, /*sparse=*/false);
    settings.batch = 256;
    return settings;
  }
  struct Outcome {
    double seconds = 0, loss = 0;
    std::vector<DeviceWork> work;
  };
  static Outcome Train(const JobSettings& settings) {
    Outcome outcome;
    const DeviceTime speeds = [&](int, const Cost& cost, const WorkPlace& place) {
      return (place.device == "cpu" ? CpuCurve() : DeviceCurve()).Seconds(cost, place);
    };
    Simulate({.devices = speeds, .cpu_threads = kThreads}, [&](const Communicator& world) {
      JobSettings own = settings;
      own.world = world;
      Job job(own);
      const StepResult result = job.Run(DrawnBatch(settings.batch, 0));
      outcome = {.seconds = result.seconds, .loss = result.loss, .work = job.executor().Work()};
    });
    return outcome;
  }
};

TEST_F(PipelineInVirtualTime, OverlapsHeadAndBody) {
  const Outcome one = Train(Settings(1)), several = Train(Settings(8)), again = Train(Settings(8));
  EXPECT_EQ(several.seconds, again.seconds);
  EXPECT_LT(several.seconds, 0.8 * one.seconds);
  EXPECT_NEAR(one.work[0].busy + one.work[1].busy, 1, 0.05);  // staging and link at once
  EXPECT_GT(several.work[0].busy + several.work[1].busy, 1.3);
  for (const DeviceWork& work : several.work) EXPECT_LT(work.busy, 1) << work.name;
}

TEST_F(PipelineInVirtualTime, TakesWhatTheEstimateSays) {
  for (const int micro_batches : {1, 2, 8}) {
    const JobSettings settings = Settings(micro_batches);
    const Job job(settings);
    const ExecutorEntry& entry = FindEntry(executors(), "executor", "pipeline");
    const ExecutorEstimate estimate =
        entry.estimate(Options("node", settings.node, entry.options),
                       {.graph = job.graph(),
                        .batch = settings.batch,
                        .epoch = 1000,
                        .devices = {"cpu", "emulated:0"},
                        .speeds = {{"cpu", CpuCurve()}, {"emulated:0", DeviceCurve()}}});
    const Outcome outcome = Train(settings);
    EXPECT_NEAR(256 * estimate.seconds_per_example, outcome.seconds, 1e-9);
    for (size_t d = 0; d < 2; ++d)
      EXPECT_NEAR(estimate.devices[d].busy, outcome.work[d].busy, 1e-6);
  }
}

/// With body passes of 1 and 2 s (forward and backward), a head of 4 s and free copies.
TEST(PipelineTimesTest, FollowTheDependencies) {
  const Graph graph({Table{{"type", "flatten"}}, Table{{"type", "linear"}, {"outputs", 4}},
                     Table{{"type", "lsh_linear"}, {"outputs", 3}}},
                    {.input = {.shape = {8}}, .outputs = 3});
  const auto seconds = [](const Cost& cost, const WorkPlace& place) {
    if (cost.operations == 0) return 0.0;
    return place.device == "cpu" ? 4.0 : cost.kernels > 2 ? 2.0 : 1.0;
  };
  const auto times = [&](int parts) {
    return TimesOf({.graph = graph, .device = "gpu", .parts = std::vector<int64_t>(parts, 8)},
                   seconds);
  };
  EXPECT_EQ(times(1).seconds, 1 + 4 + 2);
  EXPECT_EQ(times(3).seconds, 1 + 3 * 4 + 2);  // the CPU never waits again
  EXPECT_EQ(times(3).cpu_seconds, 12);
  EXPECT_EQ(times(3).device_seconds, 9);
}

TEST(PipelineEntry, RefusesOtherDevicesAndModels) {
  const ExecutorEntry& entry = FindEntry(executors(), "executor", "pipeline");
  const auto one = NewEmulatedDevice(0, {}), two = NewEmulatedDevice(1, {});
  const std::string wanted = "takes the CPU and one other device, such as [\"cpu\", \"cuda:0\"], ";
  EXPECT_EQ(entry.supports({&Cpu()}), wanted + "not cpu");
  EXPECT_EQ(entry.supports({one.get(), two.get()}), wanted + "not emulated:0, emulated:1");
  EXPECT_EQ(entry.supports({&Cpu(), one.get(), two.get()}),
            wanted + "not cpu, emulated:0, emulated:1");
  EXPECT_EQ(entry.supports({one.get(), &Cpu()}), "");
  const ModelTask task = {.input = {.shape = {8}}, .outputs = 3};
  const Table hashed = {{"type", "lsh_linear"}, {"outputs", 3}},
              dense = {{"type", "linear"}, {"outputs", 3}};
  EXPECT_EQ(entry.trains(Graph({dense, hashed}, task)), "");
  for (const List& layers : {List{dense, dense}, List{hashed}})
    EXPECT_EQ(entry.trains(Graph(layers, task)),
              "needs a model whose last layer is a hashed one (lsh_linear) above others to train");
}

TEST_F(PipelineTest, RefusesABodyThatRunsOnTheCpuOnly) {
  const List shaped = {Table{{"type", "lsh_linear"}, {"outputs", 12}}, Table{{"type", "relu"}},
                       Hashed(64)};
  const ModelTask task = {.input = {.shape = {40}, .sparse = true}, .outputs = 10};
  EXPECT_NE(FindEntry(executors(), "executor", "pipeline").trains(Graph(shaped, task)), "");
}

}  // namespace yoke::pipeline_test
