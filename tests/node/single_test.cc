// The executor single: batches of several sizes, bf16, a share of no examples, where a loss went
// wrong, and a device with the values on the host or there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <limits>

#include "base/registry.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "node/support/job.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::single_test {

using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

TEST(Single, TrainsOnBatchesOfAnySize) {
  Job job({.model = "mlp", .batch = 8});
  double first = 0, last = 0;
  for (int round = 0; round < 10; ++round)
    for (int64_t size : {8, 3, 1, 5, 7, 2}) {
      last = job.Step(DrawnBatch(size, 0));
      if (round == 0 && size == 8) first = last;
    }
  EXPECT_LT(last, first);
}

TEST(Single, GivesTheMeanOfTheExamplesGradients) {
  // Three copies of an example give the gradient of one.
  Job job({.model = "mlp", .batch = 1}), copies({.model = "mlp", .batch = 3});
  const Batch one = DrawnBatch(1, 0);
  Batch three = DrawnBatch(3, 0);
  for (int i = 0; i < 3; ++i) {
    std::copy_n(one.dense.As<float>(), 784, three.dense.As<float>() + i * 784);
    three.classes[i] = one.classes[0];
  }
  EXPECT_NEAR(job.Step(one), copies.Step(three), 1e-6);
  for (int64_t i = 0; i < job.params().layout().size(); ++i)
    ASSERT_NEAR(job.params().values().Host()[i], copies.params().values().Host()[i], 1e-6) << i;
}

TEST(Single, Bf16FollowsF32) {
  for (const char* model : {"mlp", "lenet"}) {
    Job exact({.model = model}), low({.model = model, .arithmetic = DType::kBf16});
    for (uint64_t step = 0; step < 5; ++step) {
      const Batch batch = DrawnBatch(8, step);
      const double loss = exact.Step(batch);
      EXPECT_NEAR(low.Step(batch), loss, 0.03 * loss) << model << " step " << step;
    }
  }
}

/// Host and device flush denormals, as in training: small gradients differ otherwise.
class SingleOnADevice : public testing::Test {
  const FlushScope flush_;
};

TEST_F(SingleOnADevice, GivesTheSameBitsAsOnTheCpu) {
  const auto device = NewEmulatedDevice(0, {});
  for (const char* model : {"mlp", "lenet", "resnet20"})
    for (const DType type : {DType::kF32, DType::kBf16}) {
      SCOPED_TRACE(model);
      const JobSettings settings{.model = model, .arithmetic = type, .clip_norm = 0.5};
      JobSettings copied = settings, lying = settings;
      copied.devices = lying.devices = {device.get()};
      lying.values = device.get();
      Job here(settings), there(copied), wholly(lying);
      for (const int64_t size : {3, 1, 3}) {
        const Batch batch = DrawnBatch(size, 0);
        const double loss = here.Step(batch);
        EXPECT_EQ(there.Step(batch), loss);
        EXPECT_EQ(wholly.Step(batch), loss);
      }
      EXPECT_EQ(there.Values(), here.Values());
      EXPECT_EQ(wholly.Values(), here.Values());
    }
}

/// With values on the host, and on the device, which updates touched rows.
TEST_F(SingleOnADevice, GivesTheSameBitsFromSparseInput) {
  const auto device = NewEmulatedDevice(0, {});
  for (const char* rule : {"momentum", "adam", "yellowfin"})
    for (const DType type : {DType::kF32, DType::kBf16})
      for (Device* const values : {&Cpu(), device.get()}) {
        JobSettings settings{.arithmetic = type, .threads = 2, .rule = rule};
        settings.clip_norm = 0.5, settings.widths = {70, 12}, settings.sparse = true;
        Job here(settings);
        settings.devices = {device.get()};
        settings.values = values;
        Job there(settings);
        for (const int64_t size : {8, 3, 70, 8}) {
          const Batch batch = DrawnSparseBatch(size, static_cast<uint64_t>(size));
          EXPECT_EQ(there.Step(batch), here.Step(batch)) << rule << size;
        }
        EXPECT_EQ(ValuesOf(there.state().row_steps(0)), ValuesOf(here.state().row_steps(0)));
        EXPECT_EQ(there.Values(), here.Values()) << rule << values->name();
      }
}

TEST_F(SingleOnADevice, AnnouncesGradientsThatAreThere) {
  const auto device = NewEmulatedDevice(0, {.slowdown = 4});  // not there by chance
  Job here({}), there({.devices = {device.get()}, .values = device.get()});
  const ParamLayout& layout = here.params().layout();
  for (const int64_t size : {8, 3, 0}) {
    SCOPED_TRACE(size);
    const Batch batch = size > 0 ? DrawnBatch(size, 0) : Batch();
    Gradients expected(layout, Cpu()), gradients(layout, *device);
    Fill(expected.dense(), 1);
    Fill(gradients.dense(), 1);
    std::vector<bool> announced(layout.slices().size());
    const StepResult on_cpu = here.executor().Step(batch, here.params().View(&expected), {});
    StepResult result =
        there.executor().Step(batch, there.params().View(&gradients), {.ready = [&](int i) {
                                const Slice& slice = layout.slices()[i];
                                const int64_t begin = slice.offset, end = begin + slice.Count();
                                EXPECT_EQ(ValuesOf(gradients.dense().Part(begin, end)),
                                          ValuesOf(expected.dense().Part(begin, end)));
                                EXPECT_FALSE(announced[i]);
                                announced[i] = true;
                              }});
    if (result.late) result = there.executor().LateResult(true).value();
    EXPECT_EQ(result.loss, on_cpu.loss);
    EXPECT_EQ(result.examples, size);
    EXPECT_EQ(announced, std::vector<bool>(layout.slices().size(), true));
    if (size == 0) {
      EXPECT_EQ(ValuesOf(gradients.dense()), std::vector<float>(layout.dense_size()));
    }
  }
}

TEST_F(SingleOnADevice, GoesOnBeforeTheLossIsKnown) {
  const auto device = NewEmulatedDevice(0, {});
  Job here({}), there({.devices = {device.get()}, .values = device.get()});
  Gradients expected(here.params().layout(), Cpu()), gradients(here.params().layout(), *device);
  std::promise<void> go;
  device->stream().work_queue()->Enqueue([&go] { go.get_future().wait(); });
  std::vector<double> losses;
  for (const int64_t size : {8, 3, 5}) {
    const Batch batch = DrawnBatch(size, static_cast<uint64_t>(size));
    losses.push_back(here.executor().Step(batch, here.params().View(&expected), {}).loss);
    EXPECT_TRUE(there.executor().Step(batch, there.params().View(&gradients), {}).late);
  }
  go.set_value();
  std::vector<double> late;
  for (const bool wanted : {false, true, true})
    late.push_back(there.executor().LateResult(wanted).value().loss);
  EXPECT_EQ(late, losses);
  EXPECT_FALSE(there.executor().LateResult(true));
}

TEST_F(SingleOnADevice, StopsAtALossThatIsNotPossible) {
  const auto device = NewEmulatedDevice(0, {});
  Job job({.model = "mlp", .devices = {device.get()}, .values = device.get()});
  job.Step(DrawnBatch(4, 0));
  const std::vector<float> before = job.Values();
  Batch bad = DrawnBatch(4, 0);
  bad.dense.As<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(job.Step(bad)));
  EXPECT_TRUE(std::isfinite(job.Step(DrawnBatch(4, 1))));
  EXPECT_EQ(job.Values(), before);
  EXPECT_EQ(job.executor().FirstNonFinite(), "linear1");
}

TEST_F(SingleOnADevice, NamesTheLayerOfANan) {
  const auto device = NewEmulatedDevice(0, {});
  for (Device* values : {&Cpu(), device.get()}) {
    Job job({.model = "mlp", .devices = {device.get()}, .values = values});
    Batch batch = DrawnBatch(4, 0);
    batch.dense.As<float>()[5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(job.Step(batch)));
    EXPECT_EQ(job.executor().FirstNonFinite(), "linear1") << values->name();
  }
}

TEST_F(SingleOnADevice, RefusesAWrongLabelOrIdAndGoesOn) {
  const auto device = NewEmulatedDevice(0, {});
  for (Device* values : {&Cpu(), device.get()})
    for (const bool sparse : {false, true}) {
      if (sparse && values != &Cpu()) continue;  // rows stay on the host
      Job job({.devices = {device.get()}, .values = values, .sparse = sparse});
      Job other({.sparse = sparse});
      const Batch right = sparse ? DrawnSparseBatch(8, 0) : DrawnBatch(8, 0);
      Batch wrong = sparse ? DrawnSparseBatch(8, 1) : DrawnBatch(8, 1);
      (sparse ? wrong.sparse.ids[3] : wrong.classes[5]) = 40;
      const char* reason = sparse ? "a feature of the batch is not among the model's inputs"
                                  : "a label is not among the model's outputs";
      EXPECT_THAT([&] { job.Step(wrong); },
                  testing::ThrowsMessage<Error>(testing::HasSubstr(reason)));
      EXPECT_EQ(job.Values(), other.Values());
      EXPECT_EQ(job.Step(right), other.Step(right));
      EXPECT_EQ(job.Values(), other.Values());
    }
}

TEST_F(SingleOnADevice, WaitsForASlowOne) {
  const auto device = NewEmulatedDevice(0, {.copy_bytes_per_second = 1e6});
  Job slow({.model = "mlp", .devices = {device.get()}, .device_timeout = 1e-3, .widths = {16}});
  Job cpu({.model = "mlp", .widths = {16}});
  const Batch batch = DrawnBatch(4, 0);
  EXPECT_EQ(slow.Step(batch), cpu.Step(batch));
}

TEST_F(SingleOnADevice, RefusesWhatRunsOnTheCpuOnly) {
  const auto device = NewEmulatedDevice(0, {});
  const Table hashed = {{"type", "lsh_linear"}, {"outputs", 10}};
  for (Device* values : {&Cpu(), device.get()})
    EXPECT_THAT(
        [&] {
          Job({.layers = {Table{{"type", "flatten"}}, hashed},
               .devices = {device.get()},
               .values = values});
        },
        testing::ThrowsMessage<UserError>(
            testing::HasSubstr("(lsh_linear) runs on the CPU only, not on emulated:0, because its "
                               "hash tables")));
  EXPECT_NE(FindEntry(executors(), "executor", "hogwild").supports({device.get()}), "");
  EXPECT_EQ(FindEntry(executors(), "executor", "hogwild").supports({&Cpu()}), "");
  EXPECT_NE(FindEntry(executors(), "executor", "single").supports({&Cpu(), device.get()}), "");
}

TEST(Single, AShareOfNoExamplesGivesAZeroGradient) {
  Job job({.model = "mlp"});
  job.Step(DrawnBatch(8, 0));
  Gradients gradients(job.params().layout(), Cpu());
  std::fill_n(gradients.dense().Host().data(), gradients.dense().count, 1.0F);
  int announced = 0;
  const StepResult result = job.executor().Step(Batch(), job.params().View(&gradients),
                                                {.ready = [&](int) { ++announced; }});
  EXPECT_EQ(result.examples, 0);
  EXPECT_EQ(announced, 6);
  for (int64_t i = 0; i < gradients.dense().count; ++i) ASSERT_EQ(gradients.dense().Host()[i], 0);
}

TEST(Single, NamesTheLayerWhereALossWentWrong) {
  Job job({.model = "mlp"});
  const Batch batch = DrawnBatch(8, 0);
  job.Step(batch);
  EXPECT_EQ(job.executor().FirstNonFinite(), "");
  job.params().values(3).Host()[5] = std::numeric_limits<float>::infinity();  // linear2.bias
  EXPECT_FALSE(std::isfinite(job.Step(batch)));
  EXPECT_EQ(job.executor().FirstNonFinite(), "linear2");
}

}  // namespace yoke::single_test
