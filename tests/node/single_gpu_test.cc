// The executor single on a real GPU beside the CPU: steps that are captured, and others.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "node/support/job.h"
#include "optim/captured_update.h"
#include "tensor/devices.h"

namespace yoke::single_gpu_test {

using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;

/// The length of the difference of two jobs' values, divided by that of the values.
double Apart(const Job& a, const Job& b) {
  const std::vector<float> x = a.Values(), y = b.Values();
  double square = 0, difference = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    square += double(y[i]) * y[i];
    difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
  }
  return std::sqrt(difference / square);
}

class SingleGpuTest : public testing::Test {
 protected:
  JobSettings There(JobSettings settings) {
    settings.devices = {devices_.all()[0]};
    settings.values = devices_.all()[0];
    return settings;
  }

 private:
  Devices devices_ = Devices({"cuda:0"}, "a GPU test");
};

TEST_F(SingleGpuTest, TrainsAsTheCpuDoes) {
  for (const char* model : {"mlp", "lenet", "resnet20"})
    for (const DType type : {DType::kF32, DType::kBf16}) {
      SCOPED_TRACE(model);
      const JobSettings settings{.model = model, .arithmetic = type};
      Job here(settings), there(There(settings));
      const double near = type == DType::kBf16 ? 0.03 : 2e-3;  // TF32 would have 1e-3 a product
      for (uint64_t step = 0; step < 12; ++step) {
        const Batch batch = DrawnBatch(step == 9 ? 3 : 8, step);
        const double loss = here.Step(batch);
        EXPECT_NEAR(there.Step(batch), loss, near * loss) << step;
      }
      EXPECT_LT(Apart(there, here), near);
    }
}

TEST_F(SingleGpuTest, CapturedStepsHaveTheBitsOfOthers) {
  const JobSettings sparse{.widths = {70, 12}, .sparse = true};
  const JobSettings kinds[] = {
      {.rule = "sgd"}, {.rule = "momentum"}, {.rule = "adam"}, {.clip_norm = 0.5}, sparse};
  for (const JobSettings& kind : kinds) {
    SCOPED_TRACE(kind.rule);
    JobSettings settings = There(kind);
    Job captured(settings);
    captured.state().captured()->Allow();
    settings.captures = false;
    Job apart(settings);
    for (uint64_t step = 0; step < 16; ++step) {
      const int64_t size = step % 4 == 3 ? 3 : 8;
      const Batch batch = kind.sparse ? DrawnSparseBatch(size, step) : DrawnBatch(size, step);
      EXPECT_EQ(captured.Step(batch), apart.Step(batch)) << step;
    }
    EXPECT_EQ(captured.Values(), apart.Values());
  }
}

TEST_F(SingleGpuTest, SparseInputTrainsAsOnTheCpu) {
  const JobSettings settings{.widths = {70, 12}, .sparse = true};
  Job here(settings), there(There(settings));
  for (uint64_t step = 0; step < 5; ++step) {
    const Batch batch = DrawnSparseBatch(8, step);
    const double loss = here.Step(batch);
    EXPECT_NEAR(there.Step(batch), loss, 2e-3 * loss) << step;
  }
  EXPECT_LT(Apart(there, here), 2e-3);
}

}  // namespace yoke::single_gpu_test
