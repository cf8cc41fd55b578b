// CapturedPass on a mock GPU: what is captured when, and training steps of single as launches.
#include "node/captured_pass.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "base/check.h"
#include "kernels/threads.h"
#include "node/support/job.h"
#include "optim/captured_update.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/cuda/cuda_stream.h"
#include "tensor/support/arrays.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::captured_pass_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

/// A program that is built with CUDA runs the bodies of its kernels, which add in other orders;
/// another one the CPU's kernels. So the results are near those of the CPU, or the same.
void ExpectNear(double there, double here, DType type = DType::kF32) {
  const double part = !LinkedCudaDriver() ? 0 : type == DType::kBf16 ? 0.02 : 1e-4;
  EXPECT_LE(std::abs(there - here), part * std::abs(here)) << there << " " << here;
}
void ExpectNear(const Job& there, const Job& here, DType type = DType::kF32) {
  const std::vector<float> own = there.Values(), other = here.Values();
  double square = 0, difference = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    square += double(other[i]) * other[i];
    difference += (double(own[i]) - other[i]) * (double(own[i]) - other[i]);
  }
  ExpectNear(std::sqrt(square) + std::sqrt(difference), std::sqrt(square), type);
}

class CapturedPassTest : public testing::Test {
 protected:
  int64_t Launches() const { return mock_.calls()["launch"]; }

  MockCuda mock_;
  const std::unique_ptr<Device> device_ = NewCudaDevice(0, mock_.driver());
  const FlushScope flush_;
};

TEST_F(CapturedPassTest, TheSecondPassIsCapturedAndLaterOnesAreLaunched) {
  CapturedPass pass(device_->stream());
  ASSERT_TRUE(pass.Captures());
  const Buffer there(*device_, sizeof(int));
  int* const value = there.As<int>();
  int enqueued = 0;
  const auto enqueue = [&] {
    ++enqueued;
    LaunchOnHost(device_->stream(), [value] { ++*value; });
  };
  for (int i = 0; i < 5; ++i) pass.Run({.examples = 4, .addresses = {value}}, enqueue);
  EXPECT_EQ(enqueued, 2);
  EXPECT_EQ(Launches(), 4);
  for (int i = 0; i < 3; ++i) pass.Run({.examples = 4, .epoch = 1, .addresses = {value}}, enqueue);
  EXPECT_EQ(enqueued, 4);
  EXPECT_EQ(Launches(), 6);
  EXPECT_THAT(ValuesOf(AllOf<int>(there)), ElementsAre(8));
  EXPECT_FALSE(CapturedPass(CpuStream()).Captures());
}

TEST_F(CapturedPassTest, WorkThatTakesMemoryIsRefused) {
  CapturedPass pass(device_->stream());
  const auto enqueue = [this] { const Buffer more(*device_, 64); };
  pass.Run({.examples = 4}, enqueue);
  EXPECT_THROW(pass.Run({.examples = 4}, enqueue), Error);
  EXPECT_THAT(mock_.broken(), testing::Contains(HasSubstr("cudaMalloc while a step is captured")));
  device_->stream().Wait();
}

TEST_F(CapturedPassTest, StepsOfSingleAreLaunches) {
  for (const char* model : {"mlp", "lenet"})
    for (const DType type : {DType::kF32, DType::kBf16}) {
      SCOPED_TRACE(model);
      const JobSettings settings{.model = model, .arithmetic = type, .clip_norm = 0.5};
      JobSettings lying = settings;
      lying.devices = {device_.get()};
      lying.values = device_.get();
      Job here(settings), there(lying);
      const int64_t before = Launches();
      for (uint64_t step = 0; step < 10; ++step) {
        const Batch batch = DrawnBatch(8, step);
        ExpectNear(there.Step(batch), here.Step(batch), type);
      }
      EXPECT_EQ(Launches() - before, 7);  // three places of batches
      const Batch rest = DrawnBatch(3, 11);
      ExpectNear(there.Step(rest), here.Step(rest), type);
      EXPECT_EQ(Launches() - before, 7);
      ExpectNear(there, here, type);
    }
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

/// The update too, which Apply then leaves out.
TEST_F(CapturedPassTest, AnAllowedUpdateIsAPartOfTheStep) {
  for (const char* rule : {"sgd", "momentum", "adam"}) {
    SCOPED_TRACE(rule);
    const JobSettings settings{.model = "mlp", .rule = rule};
    JobSettings lying = settings;
    lying.devices = {device_.get()};
    lying.values = device_.get();
    Job here(settings), there(lying);
    CapturedUpdateOf(there.state())->Allow();
    const int64_t before = Launches();
    int64_t enqueued = 0;
    for (uint64_t step = 0; step < 12; ++step) {
      if (step == 11) enqueued = mock_.calls()["launch_host"];
      const Batch batch = DrawnBatch(8, step);
      ExpectNear(there.Step(batch), here.Step(batch));
      if (step == 9) {  // the last of an epoch
        const Batch rest = DrawnBatch(3, 20);
        ExpectNear(there.Step(rest), here.Step(rest));
      }
    }
    EXPECT_EQ(Launches() - before, 8);
    EXPECT_EQ(mock_.calls()["launch_host"], enqueued + 1);  // the update's step: all else is there
    ExpectNear(there, here);
  }
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(CapturedPassTest, AnUpdateThatWasNotForetoldIsRefused) {
  Job job({.model = "mlp", .devices = {device_.get()}, .values = device_.get()});
  CapturedUpdate& update = *CapturedUpdateOf(job.state());
  EXPECT_FALSE(update.Ready());
  update.Allow();
  EXPECT_FALSE(update.Ready());
  job.Step(DrawnBatch(8, 0));
  EXPECT_TRUE(update.Ready());
  update.Begin(0.5);  // the job's rate is another
  EXPECT_THROW(job.Step(DrawnBatch(3, 0)), Error);
}

TEST_F(CapturedPassTest, WarmStepsMakeNothing) {
  Job job({.model = "mlp", .devices = {device_.get()}, .values = device_.get()});
  CapturedUpdateOf(job.state())->Allow();
  for (uint64_t step = 0; step < 10; ++step) job.Step(DrawnBatch(8, step));
  auto before = mock_.calls();
  for (uint64_t step = 0; step < 20; ++step) job.Step(DrawnBatch(8, step));
  auto after = mock_.calls();
  for (const char* call : {"allocate", "free", "allocate_pinned", "free_pinned", "create_event",
                           "create_stream", "begin_capture", "instantiate"})
    EXPECT_EQ(after[call], before[call]) << call;
  EXPECT_EQ(after["launch"] - before["launch"], 20);
}

TEST_F(CapturedPassTest, SparseInputIsEnqueuedKernelByKernel) {
  JobSettings settings{.widths = {70, 12}, .sparse = true};
  Job here(settings);
  settings.devices = {device_.get()};
  settings.values = device_.get();
  Job there(settings);
  for (uint64_t step = 0; step < 5; ++step) {
    const Batch batch = DrawnSparseBatch(8, step);
    ExpectNear(there.Step(batch), here.Step(batch));
  }
  ExpectNear(there, here);
  EXPECT_EQ(Launches(), 0);
}

TEST_F(CapturedPassTest, ALostGpuEndsAStepInASentence) {
  Job job({.model = "mlp", .devices = {device_.get()}, .values = device_.get()});
  for (uint64_t step = 0; step < 5; ++step) job.Step(DrawnBatch(8, step));
  mock_.Lose(719);
  try {
    job.Step(DrawnBatch(8, 5));
    FAIL() << "a step on a lost GPU";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuda:0 failed: unspecified launch failure"));
  }
}

TEST_F(CapturedPassTest, AModelThatDoesNotFitIsRefusedBeforeTheFirstStep) {
  const MockCuda small({.memory = 1000000});
  const auto device = NewCudaDevice(0, small.driver());
  try {
    const Job job({.model = "mlp", .devices = {device.get()}, .values = device.get()});
    FAIL() << "it does not fit";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuda:0 has no memory for"));
  }
}

}  // namespace yoke::captured_pass_test
