// MeasureMachine: curves of the CPU and of other devices, which are as fast as what they measured.
#include "measure/machine_profile.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/support/threads.h"
#include "measure/device_profile.h"
#include "node/estimate.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/emulated.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::machine_profile_test {

constexpr int64_t kBatch = 16;

class MachineProfiles : public testing::Test {
 protected:
  ProfileRequest Request(const std::vector<Device*>& devices, double seconds) {
    return {.graph = graph_,
            .rule = *rule_,
            .executor = FindEntry(executors(), "executor", "single"),
            .node = node_,
            .devices = devices,
            .data = *data_.train,
            .batch = kBatch,
            .learning_rate = 0.01,
            .seconds = seconds};
  }

  const Threads one_{1};
  const DataSets data_ =
      OpenData(Table{{"format", "synthetic-digits"}, {"train_size", 640}, {"test_size", 20}}, 1);
  const Graph graph_ = BuildModel(Table{{"name", "mlp"}, {"widths", List{64}}},
                                  {.input = {.shape = {1, 28, 28}}, .outputs = 10});
  const RuleEntry& entry_ = FindEntry(rules(), "rule", "momentum");
  const std::unique_ptr<UpdateRule> rule_ = entry_.make(Options("train", Table{}, entry_.options));
  Options node_;
};

TEST_F(MachineProfiles, OfTheCpuAloneHaveNoOtherDevices) {
  const MachineProfile profile = MeasureMachine(Request({&Cpu()}, 0.2));
  EXPECT_TRUE(profile.devices.empty());
  EXPECT_TRUE(profile.curve.utilizations.empty());
  EXPECT_GT(profile.step.seconds, 0);
}

TEST_F(MachineProfiles, HaveACurveOfEachDevice) {
  const auto one = NewEmulatedDevice(0, {}), other = NewEmulatedDevice(1, {});
  const MachineProfile profile = MeasureMachine(Request({&Cpu(), one.get(), other.get()}, 1));
  ASSERT_EQ(profile.devices.size(), 2);
  for (const auto& [name, curve] : profile.devices) {
    EXPECT_GT(curve.link_bytes_per_second, 0) << name;
    EXPECT_GE(curve.utilizations.size(), 5) << name;
    EXPECT_EQ(curve.threads, 1) << name;
  }
  EXPECT_FALSE(profile.curve.utilizations.empty());
}

TEST_F(MachineProfiles, HaveACurveOfAGpu) {
  const MockCuda mock;
  const auto gpu = NewCudaDevice(0, mock.driver());
  const MachineProfile profile = MeasureMachine(Request({gpu.get()}, 0.05));
  const SpeedCurve& curve = profile.devices.at("cuda:0");
  EXPECT_GT(curve.link_bytes_per_second, 0);
  EXPECT_GT(curve.operations_per_second, 0);
  EXPECT_TRUE(mock.broken().empty());
}

/// Programs beside the test can only make copies slower.
TEST_F(MachineProfiles, TimeCopiesApart) {
  constexpr double kLink = 1e8;  // bytes per second
  const auto far = NewEmulatedDevice(0, {.copy_bytes_per_second = kLink});
  const MachineProfile profile = MeasureMachine(Request({far.get()}, 0.5));
  const SpeedCurve& curve = profile.devices.at("emulated:0");
  EXPECT_LT(curve.link_bytes_per_second, 1.2 * kLink);
  EXPECT_GT(curve.link_bytes_per_second, 0.01 * kLink);
  Cost pass = graph_.Price(kBatch);
  const double without = curve.Seconds(pass, {.examples = kBatch});
  pass.device_bytes = CopiedBytes(graph_.layout());
  EXPECT_GT(curve.Seconds(pass, {.examples = kBatch}) - without, pass.device_bytes / kLink / 1.2);
}

TEST_F(MachineProfiles, OfADeviceAloneMeasureTheCpuToo) {
  const auto device = NewEmulatedDevice(0, {});
  const MachineProfile profile = MeasureMachine(Request({device.get()}, 0.4));
  EXPECT_EQ(profile.devices.size(), 1);
  EXPECT_GT(profile.curve.bytes_per_second, 0);
  EXPECT_TRUE(profile.curve.utilizations.empty());
}

/// A device that cannot give memory ends its thread with the reason.
class FullDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t) override { throw Error("the device is full"); }
  void Free(void*, int64_t) override {}
  std::unique_ptr<Stream> NewStream() override { return device_->NewStream(); }

 private:
  std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
  std::string name_ = "emulated:0";
};

TEST_F(MachineProfiles, SayWhyADeviceDoesNotWork) {
  FullDevice full;
  const ProfileRequest request = Request({&Cpu(), &full}, 0.2);
  DevicesAtWork at_work(request, Cpu());
  EXPECT_THROW(at_work.End(), Error);
  EXPECT_THROW(MeasureMachine(request), Error);
}

}  // namespace yoke::machine_profile_test
