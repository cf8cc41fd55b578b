// The gradient of touched rows: each once, in increasing order, the same for any number of threads.
#include "kernels/sparse_linear/sparse_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/check.h"
#include "base/random.h"
#include "kernels/threads.h"

namespace yoke::sparse_linear_test {

struct Rows {
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> ids;
  std::vector<float> values;
  SparseRows View(int64_t width) const {
    return {.rows = int64_t(offsets.size()) - 1,
            .width = width,
            .offsets = offsets.data(),
            .ids = ids.data(),
            .values = values.data()};
  }
};

Rows Draw(int64_t examples, int64_t features) {
  Rows rows;
  Random random{7};
  for (int64_t n = 0; n < examples; ++n) {
    for (uint64_t k = 0; k < 1 + uint64_t(n) % 40; ++k) {
      const double u = random.Uniform();
      rows.ids.push_back(int32_t(double(features) * u * u * u));  // crowded towards 0, repeats too
      rows.values.push_back(float(random.Uniform(-1, 1)));
    }
    rows.offsets.push_back(int64_t(rows.ids.size()));
  }
  return rows;
}

struct Gradient {
  std::vector<int32_t> ids;
  std::vector<float> values;
};

Gradient Backward(const SparseRows& input, const SparseLinearShape& shape, bool reference) {
  const auto kernel = MakeSparseLinear(shape, {.reference = reference});
  std::vector<float> output_gradient(input.rows * shape.outputs);
  Random random{8};
  for (float& g : output_gradient) g = float(random.Uniform(-1, 1));
  Gradient gradient;
  TouchedRowList list;
  const TouchedRows touched = list.Find(input, shape.features, gradient.ids);
  gradient.values.resize(touched.count * shape.outputs, NAN);
  kernel->Backward({.input = input,
                    .output_gradient = output_gradient.data(),
                    .touched = touched,
                    .row_values = gradient.values.data()});
  return gradient;
}

TEST(SparseLinear, TouchedRowsAreSortedAndSummed) {
  constexpr int64_t kFeatures = 300'000;  // two passes of the sort
  const SparseLinearShape shape{.features = kFeatures, .outputs = 24, .bias = false};
  const Rows rows = Draw(500, kFeatures);
  const Gradient fast = Backward(rows.View(kFeatures), shape, false);
  const Gradient reference = Backward(rows.View(kFeatures), shape, true);
  const std::set<int32_t> touched(rows.ids.begin(), rows.ids.end());
  EXPECT_EQ(fast.ids, std::vector<int32_t>(touched.begin(), touched.end()));
  ASSERT_EQ(fast.values.size(), reference.values.size());
  for (size_t i = 0; i < fast.values.size(); ++i)
    ASSERT_NEAR(fast.values[i], reference.values[i], 1e-4) << i;
}

TEST(SparseLinear, ThreadsDoNotChangeTheGradient) {
  const SparseLinearShape shape{.features = 1000, .outputs = 40, .bias = false};
  const Rows rows = Draw(300, 1000);
  const int threads = KernelThreads();
  SetKernelThreads(1);
  const Gradient one = Backward(rows.View(1000), shape, false);
  SetKernelThreads(3);
  const Gradient three = Backward(rows.View(1000), shape, false);
  SetKernelThreads(threads);
  EXPECT_EQ(one.ids, three.ids);
  EXPECT_EQ(one.values, three.values);
}

TEST(CheckIds, RefusesWhatIsNotAFeature) {
  Rows rows = Draw(5, 100);
  EXPECT_NO_THROW(CheckIds(rows.View(100), 100));
  rows.ids[3] = 100;
  EXPECT_THROW(CheckIds(rows.View(100), 100), Error);
  rows.ids[3] = -1;
  EXPECT_THROW(CheckIds(rows.View(100), 100), Error);
}

}  // namespace yoke::sparse_linear_test
