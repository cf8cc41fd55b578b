// CudaGpu: doctor measures the GPUs of a mock driver that can be used, and says why others cannot.
#include <gmock/gmock.h>

#include "cli/doctor.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::doctor_gpus_test {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr RatesRequest kShort = {.seconds = 0.01, .bytes = 1 << 20, .largest = 128};

TEST(DoctorGpus, MeasuresThoseThatCanBeUsed) {
  const MockCuda mock({.devices = 2, .old = 1});
  const std::vector<CudaGpu> found = FindCudaGpus(&mock.driver(), kShort);
  ASSERT_EQ(found.size(), 2U);
  const DeviceRates& rates = found[0].rates;
  for (const double rate :
       {rates.memory, rates.to_device, rates.from_device, rates.f32, rates.tf32, rates.bf16})
    EXPECT_GT(rate, 1e6);
  EXPECT_THAT(found[0].Text(),
              ContainsRegex("^cuda:0 Mock GPU: 4 GiB, .* free, 2 multiprocessors at 1 GHz; "
                            "measured: memory .* GB/s, copies there .* GB/s and back .* GB/s, "
                            "products .* Tflop/s in f32, .* in TF32 and .* in bf16$"));
  EXPECT_THAT(found[1].Text(), Not(HasSubstr("measured")));
  EXPECT_THAT(found[1].Text(), EndsWith("; not usable: it is a Mock GPU of compute capability 6.1, "
                                        "and this yoke is built for 8.0"));
  EXPECT_EQ(mock.allocated(), 0);
  EXPECT_THAT(mock.broken(), IsEmpty());
}

TEST(DoctorGpus, MeasuresInTheMemoryThatIsFree) {
  const MockCuda mock({.memory = 1 << 20});
  const std::vector<CudaGpu> found = FindCudaGpus(&mock.driver(), kShort);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found[0].rates.bf16, 1e6);
  EXPECT_EQ(found[0].not_measured, "");
}

TEST(DoctorGpus, CanUseAGpuThatIsFull) {
  const MockCuda mock({.memory = 100'000});
  const std::vector<CudaGpu> found = FindCudaGpus(&mock.driver(), kShort);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].Text(), HasSubstr("; not measured: cuda:0 has no memory for"));
  EXPECT_EQ(found[0].says.why_not, "");
}

TEST(DoctorGpus, FindsNoneWithoutADriver) {
  EXPECT_THAT(FindCudaGpus(nullptr), IsEmpty());
  const MockCuda none({.no_driver = 35});
  EXPECT_THAT(FindCudaGpus(&none.driver()), IsEmpty());
}

}  // namespace yoke::doctor_gpus_test
