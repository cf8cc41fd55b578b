// Batch normalization: the fast passes against plain loops, in every layout and type, with what is
// fused; moments of numbers far from zero; running statistics as PyTorch keeps them.
#include "kernels/batch_norm/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/convert.h"
#include "tensor/device.h"

namespace yoke::batch_norm_test {

/// Everything that forward and backward write, as f32 in channels last.
struct Result {
  std::vector<float> output, input_gradient, addend_gradient, weight_gradient, bias_gradient;
  std::vector<float> mean, variance;  // running
};

/// One call's numbers.
class Problem {
 public:
  explicit Problem(const BatchNormShape& shape, float offset = 0) : s_(shape) {
    Random random{7};
    for (std::vector<float>* numbers : {&x_, &z_, &dy_}) {
      numbers->resize(s_.Count());
      for (float& x : *numbers) x = float(random.Uniform(-1, 1));
    }
    for (float& x : x_) x += offset;
    for (int64_t c = 0; c < s_.channels; ++c) {
      weight_.push_back(float(random.Uniform(0.5, 1.5)));
      bias_.push_back(float(random.Uniform(-0.5, 0.5)));
    }
  }

  Result Compute(bool reference, bool in_place = false) const {
    const auto kernel = MakeBatchNorm(s_, {.reference = reference});
    const Buffer x = Take(x_), z = Take(z_), dy = Take(dy_), y = Take(x_), dx = Take(x_),
                 dz = Take(x_), scratch(Cpu(), std::max<int64_t>(kernel->scratch_bytes(), 64));
    Result run;
    run.mean.assign(s_.channels, 0.5F), run.variance.assign(s_.channels, 2.0F);
    run.weight_gradient.resize(s_.channels), run.bias_gradient.resize(s_.channels);
    std::vector<float> saved(4 * s_.channels);
    const BatchNormCall call{.input = x.data(),
                             .addend = z.data(),
                             .output = y.data(),
                             .weight = weight_.data(),
                             .bias = bias_.data(),
                             .running_mean = run.mean.data(),
                             .running_variance = run.variance.data(),
                             .moved_mean = run.mean.data(),
                             .moved_variance = run.variance.data(),
                             .weight_gradient = run.weight_gradient.data(),
                             .bias_gradient = run.bias_gradient.data(),
                             .output_gradient = dy.data(),
                             .input_gradient = dx.data(),
                             .addend_gradient = in_place ? dy.data() : dz.data(),
                             .saved = saved.data(),
                             .scratch = scratch.data()};
    kernel->Forward(call);
    run.output = Give(y);
    if (!s_.training) return run;
    kernel->Backward(call);
    run.input_gradient = Give(dx);
    if (s_.add) run.addend_gradient = Give(in_place ? dy : dz);
    return run;
  }

 private:
  Tensor Image(DType type, Layout layout, void* data) const {
    return {.shape = {s_.batch, s_.channels, s_.pixels, 1},
            .type = type,
            .data = data,
            .layout = layout};
  }
  Tensor Flat(const std::vector<float>& numbers) const {
    return Image(DType::kF32, Layout::kChannelsLast, const_cast<float*>(numbers.data()));
  }
  Buffer Take(const std::vector<float>& numbers) const {
    Buffer buffer(Cpu(), s_.Count() * SizeOf(s_.type));
    Convert(Flat(numbers), Image(s_.type, s_.layout, buffer.data()));
    return buffer;
  }
  std::vector<float> Give(const Buffer& buffer) const {
    std::vector<float> numbers(s_.Count());
    Convert(Image(s_.type, s_.layout, buffer.data()), Flat(numbers));
    return numbers;
  }

  BatchNormShape s_;
  std::vector<float> x_, z_, dy_, weight_, bias_;
};

void ExpectSame(const Result& run, const Result& reference, double tolerance) {
  test::ExpectNearLargest(run.output, reference.output, tolerance, "output");
  test::ExpectNearLargest(run.input_gradient, reference.input_gradient, tolerance,
                          "input gradient");
  test::ExpectNearLargest(run.addend_gradient, reference.addend_gradient, tolerance,
                          "addend gradient");
  test::ExpectNearLargest(run.weight_gradient, reference.weight_gradient, tolerance,
                          "weight gradient");
  test::ExpectNearLargest(run.bias_gradient, reference.bias_gradient, tolerance, "bias gradient");
  test::ExpectNearLargest(run.mean, reference.mean, tolerance, "running mean");
  test::ExpectNearLargest(run.variance, reference.variance, tolerance, "running variance");
}

struct Case {
  int64_t batch, channels, pixels;
};

class BatchNorms : public ::testing::TestWithParam<Case> {
 protected:
  BatchNormShape ShapeOf(Layout layout, DType type, bool add, bool relu) const {
    const auto [batch, channels, pixels] = GetParam();
    return {.batch = batch,
            .channels = channels,
            .pixels = pixels,
            .type = type,
            .layout = layout,
            .training = true,
            .add = add,
            .relu = relu};
  }
};

/// bf16: a number may fall to either of two neighbours, 2^-8 apart.
TEST_P(BatchNorms, FastPassesAgreeWithTheReference) {
  for (Layout layout : {Layout::kPlain, Layout::kChannelsLast})
    for (DType type : {DType::kF32, DType::kBf16})
      for (bool add : {false, true})
        for (bool relu : {false, true})
          for (bool training : {false, true}) {
            BatchNormShape shape = ShapeOf(layout, type, add, relu);
            shape.training = training;
            const Problem problem(shape);
            const Result reference = problem.Compute(true);
            const double tolerance = type == DType::kF32 ? 2e-6 : 1.0 / 128;
            SCOPED_TRACE(std::string(NameOf(type)) + (add ? " add" : "") + (relu ? " relu" : ""));
            ExpectSame(problem.Compute(false), reference, tolerance);
            ExpectSame(problem.Compute(false, true), reference, tolerance);
          }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNorms,
                         ::testing::Values(Case{2, 1, 9}, Case{5, 7, 1}, Case{3, 16, 9},
                                           Case{4, 45, 50}, Case{2, 64, 17 * 17},
                                           Case{1, 3, 6000}));

/// Numbers around 1000 that vary by 1: squares of them would leave no digit of the variance.
TEST(BatchNorm, ALargeMeanCancelsNothing) {
  for (Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    const BatchNormShape shape{
        .batch = 20, .channels = 20, .pixels = 300, .layout = layout, .training = true};
    const Problem problem(shape, 1000);
    const Result run = problem.Compute(false), reference = problem.Compute(true);
    ExpectSame(run, reference, 1e-4);
    test::ExpectNearLargest(run.variance, reference.variance, 1e-6, "running variance");
  }
}

/// A tensor larger than any cache is written past the caches.
TEST(BatchNorm, StreamedResultsAreTheSame) {
  const BatchNormShape shape{.batch = 4,
                             .channels = 64,
                             .pixels = 112 * 112,
                             .layout = Layout::kChannelsLast,
                             .training = true,
                             .relu = true};
  const Problem problem(shape);
  ExpectSame(problem.Compute(false), problem.Compute(true), 1e-5);
}

TEST(BatchNorm, RunningStatisticsAreTorchs) {
  const BatchNormShape shape{.batch = 2, .channels = 1, .training = true, .momentum = 0.25};
  const float x[] = {1, 5};
  float y[2], mean = 2, variance = 4, saved[4];
  const auto kernel = MakeBatchNorm(shape);
  std::vector<char> scratch(kernel->scratch_bytes() + 64);
  kernel->Forward({.input = x,
                   .output = y,
                   .moved_mean = &mean,
                   .moved_variance = &variance,
                   .saved = saved,
                   .scratch = scratch.data()});
  EXPECT_FLOAT_EQ(mean, 0.75F * 2 + 0.25F * 3);
  EXPECT_FLOAT_EQ(variance, 0.75F * 4 + 0.25F * 8) << "the unbiased variance of 1 and 5 is 8";
  EXPECT_NEAR(y[1], 1, 1e-5);
}

}  // namespace yoke::batch_norm_test
