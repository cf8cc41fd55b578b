// Linear that updates its weight on the spot: what it adds is the factor times the gradient, and
// the input's gradient is that of the weight as it was. Linear of some columns of a wider output.
#include "kernels/linear/linear.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/threads.h"
#include "tensor/device.h"

namespace yoke::linear_test {

constexpr float kFactor = -0.3F, kPadding = 99;

template <typename T>
std::vector<T> Draw(int64_t count, uint64_t stream) {
  Random random{6, stream};
  std::vector<T> x(count);
  for (T& v : x) v = T(static_cast<float>(random.Uniform(-1, 1)));
  return x;
}

/// What a forward and a backward pass leave behind.
struct Results {
  std::vector<float> weight, bias_gradient, input_gradient, output;
};

/// Rows of an output, with as much padding behind each as the shape says.
template <typename T>
std::vector<T> Spread(const LinearShape& s, const std::vector<T>& rows) {
  std::vector<T> spread(s.batch * s.Stride(), T(kPadding));
  for (int64_t n = 0; n < s.batch; ++n)
    std::copy_n(rows.begin() + n * s.outputs, s.outputs, spread.begin() + n * s.Stride());
  return spread;
}

template <typename T>
void ExpectPadding(const LinearShape& s, const std::vector<T>& spread) {
  for (int64_t i = 0; i < std::ssize(spread); ++i)
    if (i % s.Stride() >= s.outputs) {
      ASSERT_EQ(static_cast<float>(spread[i]), kPadding) << "at " << i;
    }
}

/// Of the same numbers for every kernel: the weight after the update, which is made on the spot
/// where the shape `adds`, else from the gradient.
template <typename T>
Results PassesOf(const LinearShape& s, bool reference) {
  const auto kernel = MakeLinear(s, {.reference = reference});
  const std::vector<T> x = Draw<T>(s.batch * s.inputs, 1), bias = Draw<T>(s.outputs, 3);
  std::vector<T> y = Spread(s, std::vector<T>(s.batch * s.outputs));
  std::vector<T> dy = Spread(s, Draw<T>(s.batch * s.outputs, 4));
  std::vector<T> dx(s.batch * s.inputs), low = Draw<T>(s.outputs * s.inputs, 2);
  Results r{.weight = Draw<float>(s.outputs * s.inputs, 2),
            .bias_gradient = std::vector<float>(s.outputs),
            .input_gradient = {},
            .output = {}};
  std::vector<float> gradient(s.adds ? 0 : r.weight.size());
  const bool f32 = s.type == DType::kF32;
  const Buffer scratch(Cpu(), std::max<int64_t>(kernel->scratch_bytes(), 64));
  const LinearCall call{.input = x.data(),
                        .weight = f32 ? static_cast<void*>(r.weight.data()) : low.data(),
                        .bias = bias.data(),
                        .output = y.data(),
                        .output_gradient = dy.data(),
                        .input_gradient = s.input_gradient ? dx.data() : nullptr,
                        .weight_gradient = s.adds ? r.weight.data() : gradient.data(),
                        .factor = kFactor,
                        .writer = 6,
                        .bias_gradient = r.bias_gradient.data(),
                        .scratch = scratch.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  for (size_t i = 0; i < gradient.size(); ++i) r.weight[i] += kFactor * gradient[i];
  for (const T v : dx) r.input_gradient.push_back(static_cast<float>(v));
  ExpectPadding(s, y), ExpectPadding(s, dy);
  for (int64_t i = 0; i < std::ssize(y); ++i)
    if (i % s.Stride() < s.outputs) r.output.push_back(static_cast<float>(y[i]));
  return r;
}

template <typename T>
void ExpectTheUpdate(LinearShape shape, double tolerance) {
  shape.training = true;
  shape.adds = false;
  const Results expected = PassesOf<T>(shape, true);
  shape.adds = true;
  for (const bool reference : {false, true}) {
    const Results found = PassesOf<T>(shape, reference);
    test::ExpectNear(found.weight, expected.weight, tolerance, "weight");
    test::ExpectNear(found.bias_gradient, expected.bias_gradient, tolerance, "bias gradient");
    test::ExpectNear(found.input_gradient, expected.input_gradient, tolerance, "input gradient");
  }
}

TEST(LinearOnTheSpot, MovesTheWeightByTheGradient) {
  const int before = KernelThreads();
  for (const int threads : {1, 2}) {
    SetKernelThreads(threads);
    for (const int64_t batch : {1, 2, 3, 16, 40})
      for (const auto& [inputs, outputs] : {std::pair<int64_t, int64_t>{3, 1}, {37, 20}, {301, 65}})
        for (const bool flag : {false, true}) {
          const LinearShape shape{.batch = batch,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .relu = flag,
                                  .input_gradient = flag || inputs > 100};
          ExpectTheUpdate<float>(shape, 2e-5);
        }
  }
  SetKernelThreads(before);
}

TEST(LinearOnTheSpot, MovesF32WeightsByGradientsOfBf16) {
  for (const int64_t batch : {1, 16}) {
    const LinearShape shape{.batch = batch,
                            .inputs = 37,
                            .outputs = 20,
                            .type = DType::kBf16,
                            .relu = true,
                            .input_gradient = true};
    ExpectTheUpdate<Bf16>(shape, 0.03);
  }
}

TEST(LinearWithAStride, WritesAndReadsItsColumnsAlone) {
  for (const int64_t batch : {1, 2, 3, 40})
    for (const bool relu : {false, true}) {
      LinearShape shape{.batch = batch,
                        .inputs = 37,
                        .outputs = 64,
                        .relu = relu,
                        .training = true,
                        .input_gradient = true};
      const Results expected = PassesOf<float>(shape, true);
      shape.stride = 150;
      for (const bool reference : {false, true}) {
        const Results found = PassesOf<float>(shape, reference);
        test::ExpectNear(found.output, expected.output, 2e-5, "output");
        test::ExpectNear(found.weight, expected.weight, 2e-5, "weight");
        test::ExpectNear(found.bias_gradient, expected.bias_gradient, 2e-5, "bias gradient");
        test::ExpectNear(found.input_gradient, expected.input_gradient, 2e-5, "input gradient");
      }
    }
}

TEST(LinearWithAStride, StaysFast) {
  const LinearShape shape{.batch = 64,
                          .inputs = 128,
                          .outputs = 256,
                          .training = true,
                          .input_gradient = true,
                          .stride = 2112};
  EXPECT_NE(MakeLinear(shape)->name(), "reference");
}

}  // namespace yoke::linear_test
