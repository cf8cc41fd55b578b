// Pools: the number of windows as Caffe and PyTorch count them, what an average divides by, a NaN
// that wins, and vectors of channels beside the reference.
#include "kernels/pooling/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::pooling_test {

TEST(Window, CountsAsCaffeAndPyTorch) {
  const Window caffe{.size = 3, .stride = 2, .padding = 0, .round_up = true};
  EXPECT_EQ(caffe.Count(32), 16);
  EXPECT_EQ(caffe.Count(16), 8);
  EXPECT_EQ(caffe.Count(8), 4);
  EXPECT_EQ((Window{.size = 3, .stride = 2}.Count(32)), 15);
  EXPECT_EQ((Window{.size = 5, .padding = 2}.Count(32)), 32);
  EXPECT_EQ((Window{.size = 2, .stride = 2, .padding = 1, .round_up = true}.Count(3)), 2)
      << "a window may not start in the padding behind the input";
  EXPECT_EQ((Window{.size = 5}.Count(4)), 0);
}

std::vector<float> Pool(const PoolingShape& shape, const std::vector<float>& input,
                        bool reference) {
  const auto kernel = MakePooling(shape, {.reference = reference});
  std::vector<float> output(shape.Output().Count());
  kernel->Forward({.input = input.data(), .output = output.data()});
  return output;
}

class Pools : public ::testing::TestWithParam<bool> {};

TEST_P(Pools, AverageCountsPaddingButNotWhatHangsOver) {
  const Window window{.size = 2, .stride = 2, .padding = 0, .round_up = true};
  const PoolingShape hangs{.function = Pooling::kAverage,
                           .batch = 1,
                           .channels = 1,
                           .height = 1,
                           .width = 3,
                           .rows = {},
                           .columns = window};
  EXPECT_EQ(Pool(hangs, {1, 3, 5}, GetParam()), (std::vector<float>{2, 5}));
  const PoolingShape padded{.function = Pooling::kAverage,
                            .batch = 1,
                            .channels = 1,
                            .height = 1,
                            .width = 3,
                            .rows = {},
                            .columns = {.size = 2, .stride = 2, .padding = 1}};
  EXPECT_EQ(Pool(padded, {1, 3, 5}, GetParam()), (std::vector<float>{0.5, 4}));
}

TEST_P(Pools, NanWins) {
  for (int64_t channels : {1, 5, 16}) {
    const Window window{.size = 2, .stride = 2};
    const PoolingShape shape{.batch = 1,
                             .channels = channels,
                             .height = 2,
                             .width = 2,
                             .rows = window,
                             .columns = window,
                             .layout = Layout::kChannelsLast};
    for (int64_t position = 0; position < 4; ++position) {
      std::vector<float> input(4 * channels, 1.0F);
      input[position * channels] = NAN;
      EXPECT_TRUE(std::isnan(Pool(shape, input, GetParam())[0])) << position;
    }
  }
}

struct Pooled {
  std::vector<float> output, input_gradient;
};

template <typename T>
Pooled ForwardAndBackward(const PoolingShape& shape, bool reference) {
  const auto kernel = MakePooling(shape, {.reference = reference});
  const int64_t in = shape.Input().Count(), out = shape.Output().Count();
  std::vector<T> input(in), gradient(out), output(out), input_gradient(in, T(NAN));
  for (int64_t i = 0; i < in; ++i) input[i] = T(static_cast<float>(i * 37 % 101 - 50));
  for (int64_t i = 0; i < out; ++i) gradient[i] = T(static_cast<float>(i * 11 % 37 + 1));
  std::vector<char> saved(kernel->saved_bytes());
  const PoolingCall call{.input = input.data(),
                         .output = output.data(),
                         .output_gradient = gradient.data(),
                         .input_gradient = input_gradient.data(),
                         .saved = saved.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  return {{output.begin(), output.end()}, {input_gradient.begin(), input_gradient.end()}};
}

template <typename T>
void ExpectAsReference(const PoolingShape& shape) {
  SCOPED_TRACE(testing::Message() << shape.channels << " channels, windows of " << shape.rows.size
                                  << ", stride " << shape.rows.stride << ", padding "
                                  << shape.rows.padding << ", columns of " << shape.columns.size
                                  << (shape.function == Pooling::kMaximum ? ", maximum" : ""));
  const Pooled fast = ForwardAndBackward<T>(shape, false),
               expected = ForwardAndBackward<T>(shape, true);
  for (size_t i = 0; i < expected.output.size(); ++i)
    ASSERT_FLOAT_EQ(fast.output[i], expected.output[i]) << i;
  const float tolerance = shape.type == DType::kBf16 ? 1.0F / 128 : 1e-6F;
  for (size_t i = 0; i < expected.input_gradient.size(); ++i)
    ASSERT_NEAR(fast.input_gradient[i], expected.input_gradient[i],
                tolerance * std::abs(expected.input_gradient[i]))
        << i;
}

TEST(PoolLoops, VectorsFollowTheReference) {
  const Window overlapping{.size = 3, .stride = 1, .padding = 1};
  const Window windows[] = {{.size = 2, .stride = 2},
                            {.size = 2, .stride = 2, .round_up = true},
                            {.size = 2, .stride = 3, .padding = 1},
                            {.size = 1, .stride = 2},
                            {.size = 2, .stride = 2, .padding = 1, .more_padding = -1},
                            {.size = 2, .stride = 2, .more_padding = -2},
                            {.size = 3, .stride = 2, .padding = 1, .round_up = true},
                            overlapping};
  for (const Pooling function : {Pooling::kMaximum, Pooling::kAverage})
    for (const Window& window : windows)
      for (const Window& columns : {window, overlapping})
        for (const int64_t channels : {1, 3, 4, 7, 8, 15, 16, 20, 50, 64, 67, 130})
          for (const Layout layout : {Layout::kChannelsLast, Layout::kPlain}) {
            PoolingShape shape{.function = function,
                               .batch = 2,
                               .channels = channels,
                               .height = 7,
                               .width = 8,
                               .rows = window,
                               .columns = columns,
                               .layout = layout,
                               .training = true};
            ExpectAsReference<float>(shape);
            shape.leaves_out_padding = true;
            shape.type = DType::kBf16;
            ExpectAsReference<Bf16>(shape);
          }
}

INSTANTIATE_TEST_SUITE_P(FastAndReference, Pools, ::testing::Bool());

}  // namespace yoke::pooling_test
