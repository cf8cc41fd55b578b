// Every way to convolve against the plain loops: output and all gradients, over windows, strides,
// padding, groups, widths that fill no register, and both types.
#include "kernels/convolution/convolution.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/threads.h"
#include "tensor/device.h"

namespace yoke::convolution_test {

/// Numbers of either type in memory of their own, read and written as f32.
class Numbers {
 public:
  Numbers(int64_t count, DType type) : type_(type), values_(count), halves_(count) {}
  void Draw(Random& random) {
    for (size_t i = 0; i < values_.size(); ++i) Set(i, float(random.Uniform()) * 2 - 1);
  }
  void Set(size_t i, float value) {
    values_[i] = value;
    halves_[i] = Bf16(value);
  }
  float operator[](size_t i) const {
    return type_ == DType::kBf16 ? float(halves_[i]) : values_[i];
  }
  size_t size() const { return values_.size(); }
  void* data() {
    return type_ == DType::kBf16 ? static_cast<void*>(halves_.data()) : values_.data();
  }

 private:
  DType type_;
  std::vector<float> values_;
  std::vector<Bf16> halves_;
};

/// A convolution's arguments, the same for all its kernels, and what a kernel made of them.
struct Work {
  explicit Work(const ConvolutionShape& s)
      : shape(s),
        input(s.Input().Count(), s.type),
        weight(s.Weight().Count(), s.type),
        bias(s.outputs, s.type),
        output(s.Output().Count(), s.type),
        output_gradient(s.Output().Count(), s.type),
        input_gradient(s.Input().Count(), s.type),
        weight_gradient(s.Weight().Count(), DType::kF32),
        bias_gradient(s.outputs, DType::kF32) {
    Random random{7, 1};
    for (Numbers* n : {&input, &weight, &bias, &output_gradient}) n->Draw(random);
  }

  void With(ConvolutionKernel& kernel) {
    const Buffer scratch(Cpu(), kernel.scratch_bytes() + 64);
    std::memset(scratch.data(), 0xFF, scratch.bytes());  // NaN to whom reads what it did not write
    const ConvolutionCall call{
        .input = input.data(),
        .weight = weight.data(),
        .bias = shape.bias ? bias.data() : nullptr,
        .output = output.data(),
        .output_gradient = output_gradient.data(),
        .input_gradient = shape.input_gradient ? input_gradient.data() : nullptr,
        .weight_gradient = static_cast<float*>(weight_gradient.data()),
        .bias_gradient = shape.bias ? static_cast<float*>(bias_gradient.data()) : nullptr,
        .scratch = scratch.data()};
    kernel.Forward(call);
    if (shape.training) kernel.Backward(call);
  }

  ConvolutionShape shape;
  Numbers input, weight, bias, output, output_gradient, input_gradient, weight_gradient,
      bias_gradient;
};

/// What the plain loops make of a shape.
Work Wanted(const ConvolutionShape& shape) {
  Work wanted(shape);
  wanted.With(*MakeConvolution(shape, {.reference = true}));
  return wanted;
}

ConvolutionShape Trained(ConvolutionShape shape) {
  shape.training = true;
  shape.layout = PreferredLayout(shape);
  return shape;
}

void Compare(const ConvolutionShape& shape, const Work& wanted) {
  Work got(shape);
  const auto kernel = MakeConvolution(shape);
  EXPECT_NE(kernel->name(), "reference");
  got.With(*kernel);
  const bool winograd = shape.algorithm == ConvolutionAlgorithm::kWinograd;
  const double tolerance = shape.type == DType::kBf16 ? 1e-2 : winograd ? 5e-5 : 1e-5;
  test::ExpectNearLargest(got.output, wanted.output, tolerance, "output");
  test::ExpectNearLargest(got.weight_gradient, wanted.weight_gradient, tolerance,
                          "weight gradient");
  test::ExpectNearLargest(got.bias_gradient, wanted.bias_gradient, tolerance, "bias gradient");
  test::ExpectNearLargest(got.input_gradient, wanted.input_gradient, tolerance, "input gradient");
}

void Compare(const ConvolutionShape& shape) {
  const ConvolutionShape trained = Trained(shape);
  Compare(trained, Wanted(trained));
}

struct Case {
  const char* name;
  ConvolutionShape shape;
};

std::vector<Case> Cases() {
  const auto shape = [](int64_t channels, int64_t size, int64_t outputs, Window window) {
    return ConvolutionShape{.batch = 3,
                            .channels = channels,
                            .height = size,
                            .width = size + 1,
                            .outputs = outputs,
                            .rows = window,
                            .columns = window,
                            .input_gradient = true};
  };
  std::vector<Case> cases = {{"few_channels_7x7_by_2", shape(3, 20, 7, {7, 2, 3})},
                             {"few_channels_11x11_by_4", shape(3, 27, 33, {11, 4, 0})},
                             {"3x3", shape(19, 9, 70, {3, 1, 1})},
                             {"3x3_by_2", shape(64, 7, 64, {3, 2, 1})},
                             {"1x1", shape(70, 6, 20, {1, 1, 0})},
                             {"1x1_by_2", shape(16, 9, 130, {1, 2, 0})},
                             {"5x5_small_image", shape(40, 3, 16, {5, 1, 2})},
                             {"many_channels", shape(300, 5, 272, {1, 1, 0})},
                             {"window_of_all_rows", shape(1, 28, 128, {28, 1, 0})},
                             {"long_rows", shape(17, 1100, 17, {3, 1, 1})}};
  cases.back().shape.height = 3;
  cases.back().shape.batch = 1;
  cases.push_back({"3x1", shape(16, 8, 24, {3, 1, 1})});
  cases.back().shape.columns = {1, 1, 0};
  cases.push_back({"groups", shape(32, 8, 64, {3, 1, 1})});
  cases.back().shape.groups = 2;
  cases.push_back({"uneven_groups", shape(60, 7, 75, {5, 1, 2})});
  cases.back().shape.groups = 3;
  cases.push_back({"groups_1x1_by_2", shape(80, 9, 48, {1, 2, 0})});
  cases.back().shape.groups = 4;
  cases.push_back({"groups_of_blocks", shape(288, 5, 560, {3, 2, 1})});
  cases.back().shape.groups = 2;
  cases.push_back({"small_groups", shape(24, 6, 36, {3, 1, 1})});
  cases.back().shape.groups = 12;
  cases.push_back({"5x5_by_3", shape(24, 20, 40, {5, 3, 2})});
  cases.push_back({"many_images_1x1", shape(16, 6, 32, {1, 1, 0})});  // several a chunk
  cases.back().shape.batch = 99;
  cases.push_back({"many_images_3x3", shape(16, 6, 32, {3, 1, 1})});
  cases.back().shape.batch = 99;
  cases.push_back({"one_image", shape(32, 8, 32, {3, 1, 1})});
  cases.back().shape.batch = 1;
  cases.push_back({"relu", shape(20, 8, 32, {3, 1, 1})});
  cases.back().shape.relu = true;
  cases.push_back({"no_bias", shape(20, 8, 32, {3, 1, 1})});
  cases.back().shape.bias = false;
  cases.push_back({"first_layer", shape(20, 8, 32, {3, 1, 1})});
  cases.back().shape.input_gradient = false;
  return cases;
}

TEST(Convolution, DirectEqualsLoops) {
  for (auto [name, shape] : Cases())
    for (const ConvolutionAlgorithm algorithm :
         {ConvolutionAlgorithm::kAuto, ConvolutionAlgorithm::kDirect}) {
      SCOPED_TRACE(name);
      shape.algorithm = algorithm;
      Compare(shape);
    }
}

TEST(Convolution, GradientsAreLoweredWhereNoChannelsFillVectors) {
  if (DescribeKernelLibrary().level == "amx")
    GTEST_SKIP() << "the direct kernels are faster where there is AMX";
  ConvolutionShape shape{.batch = 19,
                         .channels = 20,
                         .height = 12,
                         .width = 13,
                         .outputs = 50,
                         .rows = {5, 1, 0},
                         .columns = {5, 1, 0},
                         .layout = Layout::kChannelsLast,
                         .relu = true,
                         .training = true,
                         .input_gradient = true};
  const auto lowers = [&] { return MakeConvolution(shape)->name().ends_with("lowered gradients"); };
  if (MakeConvolution(shape)->name() == "reference") GTEST_SKIP() << "only reference kernels run";
  EXPECT_TRUE(lowers());
  Compare(shape);
  shape.outputs = 64;
  EXPECT_FALSE(lowers());
  shape.outputs = 50;
  for (const int64_t channels : {32, 40, 100}) {
    shape.channels = channels;
    EXPECT_FALSE(lowers()) << channels;
  }
  shape.channels = 20, shape.rows.padding = 1;
  EXPECT_FALSE(lowers());
  shape.rows.padding = 0, shape.height = 24;
  EXPECT_FALSE(lowers());
  shape.height = 12, shape.algorithm = ConvolutionAlgorithm::kDirect;
  EXPECT_FALSE(lowers());
}

TEST(Convolution, DirectEqualsLoopsInBf16) {
  if (!DescribeKernelLibrary().fast_bf16) GTEST_SKIP() << "this processor has no AVX512-BF16";
  for (auto [name, shape] : Cases()) {
    SCOPED_TRACE(name);
    shape.type = DType::kBf16;
    Compare(shape);
  }
}

TEST(Convolution, WinogradEqualsLoops) {
  for (const int64_t padding : {0, 1, 2})
    for (const int64_t size : {4, 7, 13})
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(fmt::format("padding {}, size {}, relu {}", padding, size, relu));
        Compare({.batch = 3,
                 .channels = 32,
                 .height = size,
                 .width = size + 2,
                 .outputs = 48,
                 .rows = {3, 1, padding},
                 .columns = {3, 1, 2 - padding},
                 .bias = !relu,
                 .relu = relu,
                 .input_gradient = !relu,
                 .algorithm = ConvolutionAlgorithm::kWinograd});
      }
}

TEST(Convolution, WinogradEqualsLoopsInChunks) {
  Compare({.batch = 17,  // 272 tiles, and a chunk holds 256
           .channels = 16,
           .height = 13,
           .width = 13,
           .outputs = 512,
           .rows = {3, 1, 1},
           .columns = {3, 1, 1},
           .input_gradient = true,
           .algorithm = ConvolutionAlgorithm::kWinograd});
}

TEST(Convolution, WinogradTakesManyChannelsAndTiles) {
  ConvolutionShape shape{.batch = 12,
                         .channels = 64,
                         .height = 16,
                         .width = 16,
                         .outputs = 64,
                         .rows = {3, 1, 1},
                         .columns = {3, 1, 1},
                         .layout = Layout::kChannelsLast,
                         .training = true,
                         .input_gradient = true};
  EXPECT_EQ(MakeConvolution(shape)->name(), "winograd 4x4");
  Compare(shape);
  shape.batch = 11;
  EXPECT_NE(MakeConvolution(shape)->name(), "winograd 4x4");
  shape.batch = 12, shape.outputs = 16;
  EXPECT_NE(MakeConvolution(shape)->name(), "winograd 4x4");
}

TEST(Convolution, LoweredEqualsLoops) {
  for (auto [name, shape] : Cases()) {
    shape.algorithm = ConvolutionAlgorithm::kLowerBatch;
    shape = Trained(shape);
    const Work wanted = Wanted(shape);
    for (int64_t partitions : {1, 2, 4})
      for (int64_t images : {0, 2}) {
        SCOPED_TRACE(fmt::format("{}, {} partitions of {} images", name, partitions, images));
        shape.partitions = partitions;
        shape.lowered_images = images;
        Compare(shape, wanted);
      }
  }
}

TEST(Convolution, LoweredByImageEqualsLoops) {
  for (auto [name, shape] : Cases()) {
    SCOPED_TRACE(name);
    shape.algorithm = ConvolutionAlgorithm::kLowerImage;
    Compare(shape);
  }
}

}  // namespace yoke::convolution_test
