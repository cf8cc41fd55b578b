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

/// What a layer of `width` outputs computes: the number of a weight and of a gradient depends on
/// its row and column alone.
struct Passes {
  std::vector<float> output;
  Gradient gradient;
};

Passes RunPasses(const SparseRows& x, int64_t width, bool reference) {
  const auto drawn = [&](int64_t rows, uint64_t seed) {
    std::vector<float> values;
    for (int64_t i = 0; i < rows * width; ++i) {
      Random random{seed, uint64_t(i / width), uint64_t(i % width)};
      values.push_back(float(random.Uniform(-1, 1)));
    }
    return values;
  };
  const auto kernel = MakeSparseLinear({.features = x.width, .outputs = width, .relu = true},
                                       {.reference = reference});
  const std::vector<float> weight = drawn(x.width, 1), bias = drawn(1, 2);
  std::vector<float> gradient = drawn(x.rows, 3), bias_gradient(width);
  Passes passes{.output = std::vector<float>(x.rows * width)};
  TouchedRowList list;
  SparseLinearCall call{.input = x,
                        .weight = weight.data(),
                        .bias = bias.data(),
                        .output = passes.output.data(),
                        .output_gradient = gradient.data(),
                        .bias_gradient = bias_gradient.data(),
                        .touched = list.Find(x, x.width, passes.gradient.ids)};
  passes.gradient.values.resize(call.touched.count * width);
  call.row_values = passes.gradient.values.data();
  kernel->Forward(call);
  kernel->Backward(call);
  return passes;
}

TEST(SparseLinear, HasTheSameBitsWhateverTheWidthOfItsVectors) {
  const Rows rows = Draw(45, 50);
  const SparseRows x = rows.View(50);
  constexpr int64_t kWidest = 150;  // strips of all lengths, of all vectors
  const Passes widest = RunPasses(x, kWidest, false);
  for (const int64_t width : {1, 3, 7, 8, 24, 40, 64, 100, 128, 136}) {
    SCOPED_TRACE(width);
    const Passes fast = RunPasses(x, width, false), reference = RunPasses(x, width, true);
    for (size_t i = 0; i < fast.output.size(); ++i) {
      ASSERT_EQ(fast.output[i], widest.output[i / width * kWidest + i % width]) << i;
      ASSERT_NEAR(fast.output[i], reference.output[i], 1e-5) << i;
    }
    for (size_t i = 0; i < fast.gradient.values.size(); ++i) {
      ASSERT_EQ(fast.gradient.values[i], widest.gradient.values[i / width * kWidest + i % width])
          << i;
      ASSERT_NEAR(fast.gradient.values[i], reference.gradient.values[i], 1e-5) << i;
    }
  }
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
