// CUDA's kernels on a mock GPU: training steps in captured graphs, near the CPU's. A build without
// CUDA has the CPU's kernels there.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/linear/linear.h"
#include "kernels/vectors.h"
#include "node/support/job.h"
#include "optim/captured_update.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/cuda/cuda_driver.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::cuda_kernels_test {

using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

class CudaKernelsTest : public testing::Test {
 protected:
  /// Some steps on the CPU and on the GPU: losses to `tolerance`.
  void ExpectNearTheCpu(JobSettings settings, double tolerance) {
    SCOPED_TRACE(settings.model + ", " + settings.rule);
    JobSettings lying = settings;
    lying.devices = {device_.get()};
    lying.values = device_.get();
    Job here(settings), there(lying);
    if (CapturedUpdate* const update = there.state().captured()) update->Allow();
    for (uint64_t step = 0; step < (settings.model == "lenet" ? 3 : 5); ++step) {
      const Batch batch = settings.sparse ? DrawnSparseBatch(8, step) : DrawnBatch(8, step);
      const double ours = there.Step(batch), theirs = here.Step(batch);
      ASSERT_NEAR(ours, theirs, tolerance * std::max(1.0, theirs)) << step;
    }
    EXPECT_THAT(mock_.broken(), testing::IsEmpty());
  }

  MockCuda mock_;
  const std::unique_ptr<Device> device_ = NewCudaDevice(0, mock_.driver());
};

TEST_F(CudaKernelsTest, AreMadeWhereTheyAreBuilt) {
  const bool built = LinkedCudaDriver() != nullptr;
  const Target target = {.device = device_.get(), .stream = &device_->stream()};
  EXPECT_EQ(MakeLinear({.batch = 2, .inputs = 3, .outputs = 4}, target)->name() == "cublaslt",
            built);
  EXPECT_EQ(MakeVectors(target)->name() == "cuda", built);
  const auto rule = rules().front().make(Options("train", Table{}, rules().front().options));
  EXPECT_EQ(rule->MakeKernel(target)->name() == "cuda", built);
}

TEST_F(CudaKernelsTest, TrainsMlpsByEveryRule) {
  for (const RuleEntry& rule : rules()) {
    if (rule.name == "lamb" || rule.name == "muon") continue;  // on the CPU alone
    ExpectNearTheCpu({.learning_rate = rule.learning_rate,
                      .rule = rule.name,
                      .weight_decay = rule.name == "momentum" ? 0.01 : 0},
                     rule.name == "lion" ? 2e-3 : 1e-4);  // signs of what is nearly 0
  }
  ExpectNearTheCpu({.arithmetic = DType::kBf16}, 0.02);
  ExpectNearTheCpu({.clip_norm = 0.5}, 1e-4);
}

TEST_F(CudaKernelsTest, TrainsConvolutions) {
  ExpectNearTheCpu({.model = "lenet"}, 1e-4);
  ExpectNearTheCpu({.model = "lenet", .arithmetic = DType::kBf16}, 0.02);
}

TEST_F(CudaKernelsTest, TrainTheBodyOfAHashedHead) {
  const List layers = {Table{{"type", "sparse_linear"}, {"outputs", 12}}, Table{{"type", "relu"}},
                       Table{{"type", "linear"}, {"outputs", 16}}, Table{{"type", "relu"}},
                       Table{{"type", "lsh_linear"}, {"outputs", 10}, {"group", 1}}};
  for (const DType arithmetic : {DType::kF32, DType::kBf16}) {
    const JobSettings settings = {.layers = layers, .arithmetic = arithmetic, .sparse = true};
    JobSettings both = settings;
    both.devices = {&Cpu(), device_.get()};
    both.executor = "pipeline";
    both.node = {{"micro_batches", 3}};
    Job here(settings), pipeline(both);
    for (uint64_t step = 0; step < 5; ++step) {
      const Batch batch = DrawnSparseBatch(8, step);
      EXPECT_NEAR(pipeline.Step(batch), here.Step(batch), arithmetic == DType::kF32 ? 1e-4 : 0.1);
    }
    for (const DeviceWork& work : pipeline.executor().Work()) {
      EXPECT_GT(work.busy, 0) << work.name;
      EXPECT_LT(work.busy, 1.01) << work.name;
    }
  }
  EXPECT_THAT(mock_.broken(), testing::IsEmpty());
}

TEST_F(CudaKernelsTest, TrainsOnSparseRows) {
  ExpectNearTheCpu({.widths = {70, 12}, .sparse = true}, 1e-4);
}

}  // namespace yoke::cuda_kernels_test
