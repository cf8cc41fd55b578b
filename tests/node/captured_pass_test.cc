// CapturedPasses on a mock GPU: what is captured when, and training steps of single as launches.
#include "node/captured_pass.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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

TEST_F(CapturedPassTest, APlanIsWarmedUpAndEachPlaceIsCapturedOnce) {
  CapturedPasses passes(device_->stream());
  ASSERT_TRUE(passes.Captures());
  const Buffer there(*device_, sizeof(int));
  int* const value = there.As<int>();
  int enqueued = 0;
  const auto enqueue = [&] {
    ++enqueued;
    LaunchOnHost(device_->stream(), [value] { ++*value; });
  };
  const auto plan = std::make_shared<char>(), rest = std::make_shared<char>();
  for (int i = 0; i < 5; ++i) passes.Run({.plan = plan, .addresses = {value}}, enqueue);
  EXPECT_EQ(enqueued, 2);
  EXPECT_EQ(Launches(), 4);
  passes.Run({.plan = plan, .addresses = {nullptr}}, enqueue);
  passes.Run({.plan = rest, .addresses = {value}}, enqueue);
  EXPECT_EQ(enqueued, 4);
  EXPECT_EQ(Launches(), 5);
  EXPECT_FALSE(passes.Run({.plan = plan, .addresses = {value}}, enqueue));
  EXPECT_EQ(Launches(), 6);
  EXPECT_THAT(ValuesOf(AllOf<int>(there)), ElementsAre(8));
  EXPECT_FALSE(CapturedPasses(CpuStream()).Captures());
}

TEST_F(CapturedPassTest, OnlySoManyAreKept) {
  CapturedPasses passes(device_->stream());
  const auto plan = std::make_shared<char>();
  const auto enqueue = [this] { LaunchOnHost(device_->stream(), [] {}); };
  const auto run = [&](uint64_t seed) { return passes.Run({.plan = plan, .seed = seed}, enqueue); };
  for (uint64_t seed = 0; seed <= CapturedPasses::kMost + 1; ++seed) run(seed);
  EXPECT_FALSE(run(2));  // the first was the warm-up
  EXPECT_TRUE(run(1));
}

TEST_F(CapturedPassTest, WorkThatTakesMemoryIsRefused) {
  CapturedPasses passes(device_->stream());
  const auto enqueue = [this] { const Buffer more(*device_, 64); };
  const auto plan = std::make_shared<char>();
  passes.Run({.plan = plan}, enqueue);
  EXPECT_THROW(passes.Run({.plan = plan}, enqueue), Error);
  EXPECT_THAT(mock_.broken(), testing::Contains(HasSubstr("cudaMalloc while a step is captured")));
  device_->stream().Wait();
}

/// A job on the GPU whose update may be a part of the step, beside the same on the CPU and the same
/// on the GPU kernel by kernel.
class Beside {
 public:
  Beside(JobSettings settings, Device& device) : here(settings) {
    settings.devices = {&device};
    settings.values = &device;
    there.emplace(settings);
    there->state().captured()->Allow();
    settings.captures = false;
    apart.emplace(settings);
  }
  void Step(const Batch& batch, DType type = DType::kF32) {
    const double loss = there->Step(batch);
    ExpectNear(loss, here.Step(batch), type);
    EXPECT_EQ(loss, apart->Step(batch));
  }
  /// Bits are those of the same kernels, uncaptured.
  void ExpectSame(DType type = DType::kF32) const {
    ExpectNear(*there, here, type);
    EXPECT_EQ(there->Values(), apart->Values());
  }

  Job here;
  std::optional<Job> there, apart;
};

/// A kind of step, and its batches.
struct Kind {
  std::string name;
  JobSettings settings;
  std::function<Batch(int64_t size, uint64_t number)> batch = DrawnBatch;
  int64_t host_launches = 1;  ///< Besides the graph: the update's start.
  int64_t copies = 4;         ///< Of the batch, at most.
};

Batch Weighted(int64_t size, uint64_t number) {
  Batch batch = DrawnBatch(size, number);
  for (int64_t i = 0; i < size; ++i) batch.weights.push_back(0.5F + float((i + number) % 3));
  return batch;
}

/// Two labels each, another number in some batches.
Batch Sets(int64_t size, uint64_t number) {
  Batch batch = DrawnSparseBatch(size, number);
  batch.labels.Clear();
  batch.labels.width = 10;
  for (int64_t i = 0; i < size; ++i) {
    for (int32_t k = 0; k < 1 + (i + int64_t(number)) % 2; ++k)
      batch.labels.ids.push_back((batch.classes[i] + 3 * k) % 10);
    batch.labels.offsets.push_back(std::ssize(batch.labels.ids));
  }
  batch.classes.clear();
  return batch;
}

const List kDropout = {Table{{"type", "flatten"}}, Table{{"type", "dropout"}},
                       Table{{"type", "linear"}, {"outputs", 10}}};

std::vector<Kind> Kinds() {
  const JobSettings mlp{.widths = {16}}, sparse{.widths = {70, 12}, .sparse = true};
  std::vector<Kind> kinds = {
      {"sgd", mlp},
      {"adam", mlp},
      {"clipped", mlp},
      {"bf16", mlp},
      {"weights", mlp, Weighted},
      {"dropout", {.layers = kDropout}},
      {.name = "sparse", .settings = sparse, .batch = DrawnSparseBatch, .copies = 8},
      {.name = "sparse adam", .settings = sparse, .batch = DrawnSparseBatch, .copies = 8}};
  kinds[0].settings.rule = "sgd";
  kinds[1].settings.rule = kinds[7].settings.rule = "adam";
  kinds[2].settings.clip_norm = 0.5;
  kinds[3].settings.arithmetic = DType::kBf16;
  Kind sets{.name = "label sets", .settings = sparse, .batch = Sets, .copies = 9};
  sets.settings.multi_label = true;
  kinds.push_back(sets);
  return kinds;
}

/// Epochs of 11 batches, the last smaller, twice other ones: 100 warm steps are 100 launches and
/// the updates' starts.
TEST_F(CapturedPassTest, AStepIsOneLaunch) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    const DType type = kind.settings.arithmetic;
    Beside jobs(kind.settings, *device_);
    const auto batch = [&](uint64_t step) {
      Batch drawn = kind.batch(step % 11 == 10 ? 3 : 8, step % 22);
      drawn.epoch = int64_t(step) / 11;
      return drawn;
    };
    for (uint64_t step = 0; step < 66; ++step) jobs.Step(batch(step), type);
    std::vector<Batch> batches;
    for (uint64_t step = 66; step < 166; ++step) batches.push_back(batch(step));
    auto before = mock_.calls();
    for (const Batch& each : batches) jobs.there->Step(each);
    auto after = mock_.calls();
    const auto made = [&](const char* call) { return after[call] - before[call]; };
    EXPECT_EQ(made("launch"), 100);
    EXPECT_EQ(made("launch_host"), 100 * kind.host_launches);
    EXPECT_LE(made("copy"), 100 * kind.copies);
    EXPECT_EQ(made("wait"), 100);  // the test asks for each loss
    for (const char* call : {"allocate", "free", "allocate_pinned", "free_pinned", "create_event",
                             "create_stream", "begin_capture", "instantiate"})
      EXPECT_EQ(made(call), 0) << call;
    for (const Batch& each : batches) EXPECT_EQ(std::isfinite(jobs.apart->Step(each)), true);
    for (const Batch& each : batches) jobs.here.Step(each);
    jobs.ExpectSame(type);
  }
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(CapturedPassTest, ConvolutionsAreCapturedByBatchSize) {
  for (const DType type : {DType::kF32, DType::kBf16}) {
    Beside jobs({.model = "lenet", .arithmetic = type, .clip_norm = 0.5}, *device_);
    const int64_t before = Launches();
    for (uint64_t step = 0; step < 8; ++step)
      jobs.Step(DrawnBatch(step % 4 == 3 ? 1 : 2, step), type);
    EXPECT_EQ(Launches() - before, 6);  // of each size the first step is enqueued
    jobs.ExpectSame(type);
  }
}

/// The gradient's length is of a changing number of rows: the update follows.
TEST_F(CapturedPassTest, ClippedRowsAreUpdatedAfterTheStep) {
  Beside jobs({.clip_norm = 0.1, .widths = {70, 12}, .sparse = true}, *device_);
  for (uint64_t step = 0; step < 20; ++step) jobs.Step(DrawnSparseBatch(8, step));
  jobs.ExpectSame();
  EXPECT_FALSE(jobs.there->state().captured()->Ready());
}

TEST_F(CapturedPassTest, AnUpdateThatWasNotForetoldIsRefused) {
  Job job({.model = "mlp", .devices = {device_.get()}, .values = device_.get()});
  CapturedUpdate& update = *job.state().captured();
  EXPECT_FALSE(update.Ready());
  update.Allow();
  EXPECT_FALSE(update.Ready());
  job.Step(DrawnBatch(8, 0));
  EXPECT_TRUE(update.Ready());
  update.Begin(0.5);  // the job's rate is another
  EXPECT_THROW(job.Step(DrawnBatch(3, 0)), Error);
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
