// DeviceReplica: a batch that is sent while a pass is under way, and one that no pass follows.
#include "node/device_replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::device_replica_test {

using testing_support::DrawnBatch;
using testing_support::Job;

std::vector<float> Copied(const Gradients& gradients) {
  const auto dense = gradients.dense().Host();
  return {dense.begin(), dense.end()};
}

/// A replica on a device, with the values of a job's model.
struct Replica {
  explicit Replica(EmulatedSpeed speed = {})
      : device(NewEmulatedDevice(0, speed)),
        context({.graph = job.graph(), .batch = 8, .devices = {device.get()}}),
        replica(context, *device, 8),
        gradients(job.graph().layout(), Cpu()) {
    std::ranges::copy(job.Values(), replica.values().begin());
  }
  std::vector<float> GradientOf(const Batch& batch) {
    replica.Step(batch, gradients);
    return Copied(gradients);
  }

  Job job{{}};
  std::unique_ptr<Device> device;
  ExecutorContext context;
  DeviceReplica replica;
  Gradients gradients;
};

TEST(DeviceReplica, TakesABatchDuringAPass) {
  Replica one;
  std::vector<std::vector<float>> apart;
  for (uint64_t i = 0; i < 4; ++i) apart.push_back(one.GradientOf(DrawnBatch(8 - i, i)));
  one.replica.Send(DrawnBatch(8, 0));
  for (uint64_t i = 0; i < 4; ++i) {
    one.replica.Begin();
    if (i < 3) one.replica.Send(DrawnBatch(7 - i, i + 1));
    const StepResult result = one.replica.Finish(one.gradients);
    EXPECT_EQ(result.examples, 8 - int64_t(i));
    EXPECT_EQ(Copied(one.gradients), apart[i]) << i;
  }
}

TEST(DeviceReplica, EndsWhileABatchTravels) {
  Replica one({.copy_bytes_per_second = 1e5});  // 250 ms
  const double began = Now();
  one.replica.Send(DrawnBatch(8, 0));
  EXPECT_LT(Now() - began, 0.2);
}

}  // namespace yoke::device_replica_test
