// Split over unlike devices: the gradient of the whole batch, shares by measured speed, and a
// device that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "node/support/breaking_device.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::split_devices_test {

using testing_support::BreakingDevice;
using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

JobSettings OnBoth(Device& device, const char* model = "mlp") {
  return {.model = model, .devices = {&Cpu(), &device}, .executor = "split"};
}

TEST(SplitDevices, GiveTheGradientOfTheWholeBatch) {
  const auto device = NewEmulatedDevice(0, {});
  for (const char* model : {"mlp", "lenet"})
    for (const std::vector<Device*>& devices :
         {std::vector<Device*>{&Cpu(), device.get()}, {device.get(), &Cpu()}, {device.get()}}) {
      Job split({.model = model, .devices = devices, .executor = "split"}),
          single({.model = model});
      for (const int64_t size : {8, 3, 1, 8}) {
        const Batch batch = DrawnBatch(size, 0);
        EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << model << " " << size;
      }
      const std::vector<float> a = split.Values(), b = single.Values();
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << model << " " << i;
      int64_t examples = 0;
      for (const DeviceWork& work : split.executor().Work()) examples += work.examples;
      EXPECT_EQ(examples, devices.size() > 1 ? 20 : 0);
    }
}

TEST(SplitDevices, SumTouchedRows) {
  const auto device = NewEmulatedDevice(0, {});
  for (const std::vector<Device*>& devices :
       {std::vector<Device*>{&Cpu(), device.get()}, {device.get(), &Cpu()}, {device.get()}}) {
    Job split({.devices = devices, .executor = "split", .widths = {12}, .sparse = true}),
        single({.widths = {12}, .sparse = true});
    double first = 0, last = 0;
    for (int step = 0; step < 40; ++step)
      for (const int64_t size : {8, 3, 1}) {
        const Batch batch = DrawnSparseBatch(size, 0);
        last = split.Step(batch);
        EXPECT_NEAR(last, single.Step(batch), 1e-5) << size;
        if (step == 0 && size == 8) first = last;
      }
    EXPECT_LT(last, 0.8 * first);
    EXPECT_EQ(ValuesOf(split.state().row_steps(0)), ValuesOf(single.state().row_steps(0)));
    const std::vector<float> a = split.Values(), b = single.Values();
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
  }
}

TEST(SplitDevices, TakeTheMeanOfRunningStatistics) {
  const auto device = NewEmulatedDevice(0, {});
  Job job(OnBoth(*device, "resnet20"));
  for (uint64_t step = 0; step < 2; ++step)
    EXPECT_TRUE(std::isfinite(job.Step(DrawnBatch(8, step))));
  for (const float value : job.Values()) ASSERT_TRUE(std::isfinite(value));
}

TEST(SplitDevices, ShareEvenlyBetweenEqualOnesAndSettle) {
  constexpr int kSteps = 120;  // a core that another program takes for a while hardly counts
  const auto one = NewEmulatedDevice(0, {.slowdown = 8}),
             two = NewEmulatedDevice(1, {.slowdown = 8});
  Job job({.devices = {one.get(), two.get()}, .executor = "split", .widths = {256, 256}});
  for (int step = 0; step < kSteps; ++step) job.Step(DrawnBatch(128, 0));
  const std::vector<DeviceWork> work = job.executor().Work();
  const double share = double(work[0].examples) / (kSteps * 128);
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.7);
  // A machine that is busy with other work leaves both idle, alike.
  const auto [less, more] = std::minmax(work[0].busy, work[1].busy);
  EXPECT_GT(less, more / 2);
}

TEST(SplitDevices, GoOnWithoutADeviceThatStalls) {
  BreakingDevice device(3, BreakingDevice::How::kStalls);
  JobSettings settings = OnBoth(device);
  settings.device_timeout = 0.3;
  Job split(settings), single({});
  for (int step = 0; step < 6; ++step) {
    const Batch batch = DrawnBatch(8, 0);
    EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << step;
  }
  const std::vector<DeviceWork> work = split.executor().Work();
  EXPECT_LT(work[1].examples, work[0].examples);
}

TEST(SplitDevices, GoOnWithTheOtherDeviceWhereThereIsNoCpu) {
  const auto whole = NewEmulatedDevice(1, {});
  BreakingDevice breaking(3);
  Job split({.devices = {&breaking, whole.get()}, .executor = "split"}), single({});
  for (int step = 0; step < 6; ++step) {
    const Batch batch = DrawnBatch(8, 0);
    EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << step;
  }
}

TEST(SplitDevices, GiveASlowDeviceLess) {
  const auto device = NewEmulatedDevice(0, {.slowdown = 10});
  JobSettings settings = OnBoth(*device);
  settings.widths = {256, 256};
  Job job(settings);
  for (uint64_t step = 0; step < 40; ++step) job.Step(DrawnBatch(256, 0));
  const std::vector<DeviceWork> work = job.executor().Work();
  EXPECT_LT(work[1].examples, work[0].examples / 2);
  EXPECT_GT(work[1].examples, 0);
}

TEST(SplitDevices, DivideAsStated) {
  const auto device = NewEmulatedDevice(0, {.slowdown = 10});
  JobSettings settings = OnBoth(*device);
  settings.node = {{"split_fractions", List{0.25, 0.75}}};
  Job split(settings), single({});
  for (int step = 0; step < 6; ++step) {
    const Batch batch = DrawnBatch(8, 0);
    EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << step;
  }
  const std::vector<DeviceWork> work = split.executor().Work();
  EXPECT_EQ(work[0].examples, 6 * 2);
  EXPECT_EQ(work[1].examples, 6 * 6);
  for (const List& wrong : {List{0.5}, List{0.5, 0.6}, List{0.0, 1.0}}) {
    settings.node = {{"split_fractions", wrong}};
    EXPECT_THROW(Job{settings}, UserError);
  }
}

TEST(SplitDevices, GoOnWithoutADeviceThatFails) {
  for (const bool sparse : {false, true}) {
    BreakingDevice device(3);
    JobSettings settings = OnBoth(device), plain;
    settings.sparse = plain.sparse = sparse;
    Job split(settings), single(plain);
    for (int step = 0; step < 6; ++step) {
      const Batch batch = sparse ? DrawnSparseBatch(8, 0) : DrawnBatch(8, 0);
      EXPECT_NEAR(split.Step(batch), single.Step(batch), 1e-5) << step;
    }
    const std::vector<DeviceWork> work = split.executor().Work();
    EXPECT_LT(work[1].examples, work[0].examples);
  }
}

}  // namespace yoke::split_devices_test
