// Every layer of the list: gradients against central differences, fast kernels against the
// reference, f32 and bf16.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "model/support/layer_harness.h"
#include "tensor/emulated.h"

namespace yoke::testing_support {

void PrintTo(const LayerCase& layer_case, std::ostream* out) { *out << NameOf(layer_case); }

namespace layers_conformance_test {

const std::vector<LayerCase>& Cases() {
  static const std::vector<LayerCase> cases = {
      {.type = "linear", .options = "outputs = 5", .input = {7}, .batch = 1},
      {.type = "linear", .options = "outputs = 33\nbias = false", .input = {17}, .batch = 2},
      {.type = "linear", .options = "outputs = 10", .input = {3, 4, 5}, .batch = 3},
      {.type = "linear", .options = "outputs = 70", .input = {130}, .batch = 4, .fuse_relu = true},
      {.type = "linear", .options = "outputs = 40", .input = {99}, .batch = 1, .fuse_relu = true},
      {.type = "linear", .options = "outputs = 64", .input = {48}, .batch = 37, .fuse_relu = true},
      {.type = "linear", .options = "outputs = 1", .input = {1}, .batch = 5},
      {.type = "sparse_linear", .options = "outputs = 6", .input = {40}, .sparse = true},
      {.type = "sparse_linear",
       .options = "outputs = 33\nbias = false",
       .input = {9},
       .batch = 1,
       .sparse = true},
      {.type = "sparse_linear",
       .options = "outputs = 64",
       .input = {500},
       .batch = 19,
       .sparse = true,
       .fuse_relu = true},
      {.type = "embedding", .options = "categories = [3, 0, 7]", .input = {3}, .batch = 8},
      {.type = "embedding", .options = "categories = [0, 1]\ndimensions = 5", .input = {2}},
      {.type = "convolution", .options = "outputs = 4\nkernel = 3", .input = {1, 6, 7}},
      {.type = "convolution",
       .options = "outputs = 20\nkernel = 5",
       .input = {1, 12, 12},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 9\nkernel = 5\npadding = 2",
       .input = {3, 9, 8},
       .batch = 2,
       .fuse_relu = true},
      {.type = "linear", .options = "outputs = 6", .input = {5}, .batch = 2, .fuse_relu = true},
      {.type = "sparse_linear",
       .options = "outputs = 4",
       .input = {30},
       .batch = 2,
       .sparse = true,
       .fuse_relu = true},
      {.type = "convolution",
       .options = "outputs = 2\nkernel = 3\nstride = 2",
       .input = {2, 7, 7},
       .batch = 1,
       .fuse_relu = true},
      {.type = "convolution",
       .options = "outputs = 32\nkernel = 3\npadding = 1\nbias = false",
       .input = {32, 6, 6},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 50\nkernel = 5",
       .input = {20, 8, 8},
       .batch = 1},
      {.type = "convolution",
       .options = "outputs = 8\nkernel = [3, 2]\nstride = [4, 3]\npadding = [1, 0]",
       .input = {5, 13, 11},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 16\nkernel = 1\nstride = 2",
       .input = {16, 7, 7},
       .batch = 3,
       .fuse_relu = true},
      {.type = "convolution",
       .options = "outputs = 6\nkernel = 3\ngroups = 2\npadding = 1",
       .input = {4, 5, 5}},
      {.type = "convolution",
       .options = "outputs = 32\nkernel = 3\ngroups = 2",
       .input = {32, 5, 5},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 6\nkernel = 3\nstride = 2\npadding = [0, 1, 2, 0]",
       .input = {3, 7, 6},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 16\nkernel = 3\npadding = [2, 2, 1, 3]\ndilation = 2",
       .input = {16, 8, 7},
       .batch = 2,
       .fuse_relu = true},
      {.type = "convolution",
       .options = "outputs = 4\nkernel = [1, 3]\ndilation = [1, 3]\nbias = false",
       .input = {5, 3, 9}},
      {.type = "convolution",
       .options = "outputs = 24\nkernel = 3\ngroups = 24\npadding = 1\nbias = false",
       .input = {24, 6, 6},
       .batch = 2},
      {.type = "convolution",
       .options = "outputs = 16\nkernel = 5\nstride = 2\ngroups = 16\npadding = 2",
       .input = {16, 7, 7},
       .batch = 2},
      {.type = "convolution",
       .options =
           "outputs = 43\nkernel = [3, 7]\ngroups = 43\npadding = [1, 3, 2, 1]\ndilation = [2, 1]",
       .input = {43, 7, 8},
       .fuse_relu = true},
      {.type = "max_pool", .options = "kernel = 2", .input = {3, 8, 8}},
      {.type = "max_pool",
       .options = "kernel = 3\nstride = 2\nceil_mode = true",
       .input = {17, 8, 9},
       .batch = 2},
      {.type = "max_pool",
       .options = "kernel = [3, 2]\nstride = [1, 3]\npadding = [1, 1]",
       .input = {2, 5, 7},
       .batch = 1},
      {.type = "average_pool", .options = "kernel = 2", .input = {5, 6, 6}},
      {.type = "average_pool",
       .options = "kernel = 3\nstride = 2\nceil_mode = true",
       .input = {16, 8, 8},
       .batch = 2},
      {.type = "average_pool",
       .options = "kernel = 3\nstride = 2\npadding = 1",
       .input = {4, 7, 5},
       .batch = 1},
      {.type = "average_pool",
       .options = "kernel = 3\nstride = 2\npadding = 1\nceil_mode = true",
       .input = {4, 8, 8}},
      {.type = "average_pool",
       .options = "kernel = 3\nstride = 2\npadding = [1, 0, 2, 1]\ncount_padding = false",
       .input = {4, 8, 7}},
      {.type = "average_pool",
       .options = "kernel = 3\nstride = 2\npadding = [0, 2, 1, 1]\nceil_mode = true",
       .input = {17, 6, 8},
       .batch = 2},
      {.type = "max_pool",
       .options = "kernel = 3\nstride = 2\npadding = [0, 0, 1, 2]",
       .input = {9, 8, 7},
       .batch = 2},
      {.type = "relu", .options = "", .input = {37}},
      {.type = "relu", .options = "", .input = {3, 4, 5}, .batch = 1},
      {.type = "sigmoid", .options = "", .input = {37}},
      {.type = "tanh", .options = "", .input = {2, 5, 3}},
      {.type = "leaky_relu", .options = "slope = 0.2", .input = {3, 4, 5}},
      {.type = "clip", .options = "minimum = -0.5\nmaximum = 0.75", .input = {37}},
      {.type = "silu", .options = "", .input = {3, 4, 5}},
      {.type = "hard_swish", .options = "", .input = {3, 4, 5}},
      {.type = "gelu", .options = "", .input = {37}},
      {.type = "gelu", .options = "approximation = \"tanh\"", .input = {3, 4, 5}},
      {.type = "hard_sigmoid", .options = "", .input = {3, 4, 5}},
      {.type = "hard_sigmoid", .options = "slope = 0.4\noffset = 0.3", .input = {37}},
      {.type = "dropout", .options = "probability = 0.3", .input = {41}},
      {.type = "dropout", .options = "", .input = {3, 4, 4}, .batch = 1},
      {.type = "flatten", .options = "", .input = {3, 4, 5}},
      {.type = "batch_norm", .options = "", .input = {5}, .batch = 9},
      {.type = "batch_norm",
       .options = "epsilon = 0.1\nmomentum = 0.5",
       .input = {3, 4, 5},
       .batch = 2},
      {.type = "batch_norm", .options = "affine = false", .input = {20, 3, 3}, .batch = 4},
      {.type = "batch_norm", .options = "", .input = {2, 3, 4}, .batch = 3, .fuse_relu = true},
      {.type = "batch_norm", .options = "", .input = {37, 7, 9}, .batch = 5, .fuse_relu = true},
      {.type = "batch_norm", .options = "", .input = {4, 3, 3}, .fuse_add = true},
      {.type = "batch_norm",
       .options = "affine = false",
       .input = {2, 4, 4},
       .fuse_relu = true,
       .fuse_add = true},
      {.type = "batch_norm",
       .options = "",
       .input = {64, 9, 7},
       .batch = 4,
       .fuse_relu = true,
       .fuse_add = true},
      {.type = "layer_norm", .options = "", .input = {37}},
      {.type = "layer_norm", .options = "epsilon = 0.1", .input = {3, 4, 5}, .batch = 2},
      {.type = "layer_norm", .options = "over = \"channels\"", .input = {7, 3, 4}},
      {.type = "layer_norm", .options = "over = \"channels\"", .input = {130, 3, 3}, .batch = 2},
      {.type = "layer_norm",
       .options = "over = \"channels\"\naffine = false",
       .input = {9},
       .batch = 2},
      {.type = "local_response_norm", .options = "alpha = 2.0", .input = {7, 3, 4}},
      {.type = "local_response_norm",
       .options = "size = 3\nalpha = 1.0\nbeta = 0.5\nk = 2.0",
       .input = {40, 9, 5},
       .batch = 2},
      {.type = "local_response_norm",
       .options = "size = 9\nalpha = 0.5\nbeta = 1.3",
       .input = {4, 7, 7},
       .batch = 1},
      {.type = "local_response_norm",
       .options = "size = 1\nalpha = 1.0\nbeta = 1.0",
       .input = {3, 2, 2}},
      {.type = "global_average_pool", .options = "", .input = {3, 4, 5}},
      {.type = "global_average_pool", .options = "", .input = {19, 6, 7}, .batch = 2},
      {.type = "global_average_pool", .options = "keep_axes = true", .input = {5, 3, 3}},
      {.type = "add", .options = "", .input = {37}, .others = {{37}}},
      {.type = "add", .options = "", .input = {3, 4, 5}, .others = {{3, 4, 5}, {3, 4, 5}}},
      {.type = "add", .options = "", .input = {2, 4, 3}, .fuse_relu = true, .others = {{2, 4, 3}}},
      {.type = "multiply", .options = "", .input = {37}, .others = {{37}}},
      {.type = "multiply", .options = "", .input = {3, 4, 5}, .others = {{3, 4, 5}}},
      {.type = "multiply", .options = "", .input = {3, 4, 5}, .others = {{3}}},
      {.type = "multiply", .options = "", .input = {70, 3, 4}, .batch = 2, .others = {{70, 1, 1}}},
      {.type = "concat", .options = "", .input = {7}, .others = {{4}}},
      {.type = "concat", .options = "", .input = {3, 4, 5}, .others = {{2, 4, 5}, {16, 4, 5}}},
      {.type = "slice", .options = "channels = 4", .input = {9}},
      {.type = "slice", .options = "begin = 3\nchannels = 5", .input = {19, 3, 4}, .batch = 2},
      {.type = "channel_shuffle", .options = "groups = 3", .input = {12, 3, 5}},
      {.type = "channel_shuffle", .options = "groups = 2", .input = {10}},
      {.type = "pad", .options = "padding = [0, 1, 2, 3]", .input = {5, 4, 3}},
      {.type = "pad", .options = "padding = 1\nvalue = -0.5", .input = {3, 2, 4}, .batch = 1},
      {.type = "shortcut", .options = "outputs = 6\nstride = 2", .input = {4, 5, 6}},
      {.type = "softmax_cross_entropy", .options = "", .input = {10}, .batch = 4},
      {.type = "softmax_cross_entropy",
       .options = "",
       .input = {33},
       .batch = 7,
       .label_sets = true},
      {.type = "sigmoid_cross_entropy", .options = "", .input = {9}, .batch = 1},
      {.type = "sigmoid_cross_entropy", .options = "", .input = {1}, .batch = 5},
      {.type = "sigmoid_cross_entropy",
       .options = "",
       .input = {50},
       .batch = 6,
       .label_sets = true},
      {.type = "mean_squared_error", .options = "", .input = {1}, .batch = 5},
      {.type = "mean_squared_error", .options = "weight = 0.5", .input = {3}, .batch = 4},
      {.type = "mean_absolute_error", .options = "", .input = {2}, .batch = 4},
      {.type = "huber", .options = "delta = 1.5", .input = {2}, .batch = 6},
      {.type = "quantile", .options = "level = 0.9", .input = {2}, .batch = 4},
  };
  return cases;
}

TEST(LayersConformance, EveryLayerHasACase) {
  std::set<std::string> covered;
  for (const LayerCase& c : Cases()) covered.insert(c.type);
  covered.insert("lsh_linear");  // gives active sets in training: lsh_linear_test.cc
  for (const LayerEntry& entry : layers()) EXPECT_TRUE(covered.count(entry.name)) << entry.name;
}

/// The cases for which a promise holds.
std::vector<LayerCase> CasesWhere(const std::function<bool(const LayerCase&)>& holds) {
  std::vector<LayerCase> cases;
  std::ranges::copy_if(Cases(), std::back_inserter(cases), holds);
  return cases;
}

std::string Name(const ::testing::TestParamInfo<LayerCase>& info) {
  return fmt::format("{}_{}", info.param.type, info.index);
}

class LayerConformance : public ::testing::TestWithParam<LayerCase> {};
INSTANTIATE_TEST_SUITE_P(Layers, LayerConformance, ::testing::ValuesIn(Cases()), Name);

/// With more entries behind a ReLU hardly one moves without a switch.
class LayerDifferences : public LayerConformance {};
INSTANTIATE_TEST_SUITE_P(Layers, LayerDifferences,
                         ::testing::ValuesIn(CasesWhere([](const auto& c) {
                           return !c.fuse_relu || LayerHarness(c).output_gradient.size() <= 100;
                         })),
                         Name);

/// A ReLU near zero or the larger of two near numbers may switch; FastKernelsAgreeInBf16 has them.
class SmoothLayer : public LayerConformance {};
INSTANTIATE_TEST_SUITE_P(Layers, SmoothLayer, ::testing::ValuesIn(CasesWhere([](const auto& c) {
                           return !c.fuse_relu && c.type != "max_pool";
                         })),
                         Name);

/// What dropout draws follows memory.
class ImageLayer : public LayerConformance {};
INSTANTIATE_TEST_SUITE_P(Layers, ImageLayer, ::testing::ValuesIn(CasesWhere([](const auto& c) {
                           return c.input.rank() == 3 && c.type != "dropout";
                         })),
                         Name);

/// A NaN that is dropped is gone.
class DenseLayer : public LayerConformance {};
INSTANTIATE_TEST_SUITE_P(Layers, DenseLayer, ::testing::ValuesIn(CasesWhere([](const auto& c) {
                           return !c.sparse && c.type != "dropout";
                         })),
                         Name);

/// Compares up to a dozen entries of `analytic` with central differences of the objective in
/// `numbers`. Steps of 1/64 keep rounding (1e-7 of the objective) below 1e-4 of a gradient. With
/// `kinks`, entries whose one-sided differences disagree are passed over (a ReLU switched in
/// between), which at most two thirds may be.
void ExpectDifferences(LayerHarness& harness, std::vector<float>& numbers,
                       const std::vector<float>& analytic, bool kinks) {
  constexpr float kStep = 1.0F / 64;
  const size_t stride = std::max<size_t>(1, numbers.size() / 12);
  double largest = 1e-3;
  for (float g : analytic) largest = std::max(largest, std::abs(double(g)));
  const double middle = harness.Objective();
  int compared = 0, passed_over = 0;
  for (size_t i = 0; i < numbers.size(); i += stride, ++compared) {
    const float value = numbers[i];
    numbers[i] = value + kStep;
    const double up = (harness.Objective() - middle) / kStep;
    numbers[i] = value - kStep;
    const double down = (middle - harness.Objective()) / kStep;
    numbers[i] = value;
    if (kinks && std::abs(up - down) > 0.002 * largest && ++passed_over) continue;
    EXPECT_NEAR(analytic[i], (up + down) / 2, 2e-3 * largest) << "entry " << i;
  }
  EXPECT_LE(3 * passed_over, 2 * compared);
}

TEST_P(LayerDifferences, AreTheReferenceGradients) {
  LayerHarness harness(GetParam());
  const bool relu = GetParam().fuse_relu;
  const LayerRun run = harness.Run({.target = {.reference = true}});
  if (!GetParam().sparse) ExpectDifferences(harness, harness.input, run.input_gradient, relu);
  for (size_t k = 0; k < harness.others.size(); ++k)
    ExpectDifferences(harness, harness.others[k], run.other_gradients[k], relu);
  for (size_t p = 0; p < harness.params.size(); ++p)
    if (harness.specs()[p].kind != SliceKind::kBuffer)
      ExpectDifferences(harness, harness.params[p], run.gradients[p], relu);
}

void ExpectSame(const LayerRun& run, const LayerRun& reference, double tolerance) {
  EXPECT_LE(RelativeError(run.output, reference.output), tolerance) << "output, " << run.kernel;
  EXPECT_LE(RelativeError(run.input_gradient, reference.input_gradient), tolerance)
      << "input gradient, " << run.kernel;
  for (size_t k = 0; k < run.other_gradients.size(); ++k)
    EXPECT_LE(RelativeError(run.other_gradients[k], reference.other_gradients[k]), tolerance)
        << "gradient of other input " << k << ", " << run.kernel;
  for (size_t p = 0; p < run.gradients.size(); ++p)
    EXPECT_LE(RelativeError(run.gradients[p], reference.gradients[p]), tolerance)
        << "gradient of parameter " << p << ", " << run.kernel;
}

/// Sums of at most a few thousand f32 products in another order differ by less than 1e-5 of the
/// largest.
TEST_P(LayerConformance, FastKernelsAgreeWithTheReference) {
  const LayerHarness harness(GetParam(), 2);
  ExpectSame(harness.Run({}), harness.Run({.target = {.reference = true}}), 1e-5);
}

/// Both round inputs, weights and results to bf16 (8 bits: half a unit is 2^-9 of a number) and sum
/// in f32. A sum that lies between two bf16 numbers may fall to either side (2^-8), and a ReLU's
/// sign flips only near zero.
TEST_P(LayerConformance, FastKernelsAgreeInBf16) {
  const LayerHarness harness(GetParam(), 3);
  ExpectSame(harness.Run({.arithmetic = DType::kBf16}),
             harness.Run({.arithmetic = DType::kBf16, .target = {.reference = true}}), 1.0 / 128);
}

/// Rounding the operands of a sum errs by 2^-9 of each; 3 % of the largest covers sums that cancel.
TEST_P(SmoothLayer, InBf16IsNearF32) {
  const LayerHarness harness(GetParam(), 4);
  ExpectSame(harness.Run({.arithmetic = DType::kBf16,
                          .edge = {.type = DType::kBf16},
                          .other_edge = {.type = DType::kBf16}}),
             harness.Run({.target = {.reference = true}}), 0.03);
}

TEST_P(ImageLayer, GivesTheSameInChannelsLast) {
  const LayerHarness harness(GetParam(), 5);
  const LayerRun plain = harness.Run({.target = {.reference = true}});
  const Edge edge{.layout = Layout::kChannelsLast};
  ExpectSame(harness.Run({.target = {.reference = true}, .edge = edge}), plain, 1e-5);
  ExpectSame(harness.Run({.edge = edge}), plain, 1e-5);
  ExpectSame(harness.Run({.edge = edge, .other_edge = edge}), plain, 1e-5);
  ExpectSame(harness.Run({.other_edge = edge}), plain, 1e-5);
}

/// On a device with memory of its own each layer gives the CPU's bits, unless it is refused there.
TEST_P(LayerConformance, AnEmulatedDeviceGivesTheSameBits) {
  const auto device = NewEmulatedDevice(0, {});
  const auto stream = device->NewStream();
  const LayerHarness harness(GetParam(), 8);
  if (!harness.layer().OnlyOnCpu().empty()) return;
  for (const DType type : {DType::kF32, DType::kBf16})
    for (const bool reference : {false, true}) {
      RunOptions options{.arithmetic = type,
                         .target = {.reference = reference},
                         .edge = {.type = type},
                         .other_edge = {.type = type}};
      const LayerRun here = harness.Run(options);
      options.target = {.device = device.get(), .stream = stream.get(), .reference = reference};
      const LayerRun there = harness.Run(options);
      EXPECT_EQ(there.output, here.output) << here.kernel;
      EXPECT_EQ(there.input_gradient, here.input_gradient) << here.kernel;
      EXPECT_EQ(there.other_gradients, here.other_gradients) << here.kernel;
      EXPECT_EQ(there.gradients, here.gradients) << here.kernel;
    }
}

/// A gradient that may lie where the output's does is the same there.
TEST_P(LayerConformance, GradientsInPlaceAreTheSame) {
  const LayerHarness harness(GetParam(), 7);
  for (const DType type : {DType::kF32, DType::kBf16})
    for (const bool reference : {false, true}) {
      RunOptions options{.arithmetic = type,
                         .target = {.reference = reference},
                         .edge = {.type = type},
                         .other_edge = {.type = type}};
      const LayerRun apart = harness.Run(options);
      options.in_place = true;
      ExpectSame(harness.Run(options), apart, 1e-6);
    }
}

/// A NaN reaches the output of every layer and kernel, so that divergence is noticed.
TEST_P(DenseLayer, PassesNanOn) {
  LayerHarness harness(GetParam(), 6);
  std::fill(harness.input.begin(), harness.input.end(), NAN);
  for (const DType type : {DType::kF32, DType::kBf16})
    for (const bool reference : {false, true}) {
      const LayerRun run = harness.Run({.arithmetic = type, .target = {.reference = reference}});
      const auto is_nan = [](float y) { return std::isnan(y); };
      EXPECT_TRUE(std::any_of(run.output.begin(), run.output.end(), is_nan)) << run.kernel;
    }
}

}  // namespace layers_conformance_test
}  // namespace yoke::testing_support
