// The layer batch_norm: what it absorbs and in which order, its parameters, and evaluation by the
// running statistics.
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "base/registry.h"
#include "model/layer.h"

namespace yoke::batch_norm_test {

std::unique_ptr<Layer> Make(const std::string& settings, const Shape& input) {
  const LayerEntry& entry = FindEntry(layers(), "layer", "batch_norm");
  return entry.make(Options("layer", ParseToml(settings, "test"), entry.options),
                    {.name = "norm", .input = {.shape = input}});
}

TEST(BatchNormLayer, AbsorbsAnAdditionAndThenARelu) {
  const auto both = Make("", {4, 3, 3});
  EXPECT_TRUE(both->Fuse(Fusion::kAdd));
  EXPECT_FALSE(both->Fuse(Fusion::kAdd));
  EXPECT_TRUE(both->Fuse(Fusion::kRelu));
  EXPECT_FALSE(both->Fuse(Fusion::kRelu));
  const auto relu = Make("", {4, 3, 3});
  EXPECT_TRUE(relu->Fuse(Fusion::kRelu));
  EXPECT_FALSE(relu->Fuse(Fusion::kAdd)) << "y + relu(x) is another sum";
}

TEST(BatchNormLayer, WeightAndBiasStayExact) {
  const std::vector<ParamSpec> specs = Make("", {4, 3, 3})->Params();
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_TRUE(specs[0].keep_f32 && specs[1].keep_f32);
  EXPECT_EQ(specs[0].initializer, "ones");
  EXPECT_EQ(specs[2].name, "running_mean");
  EXPECT_EQ(specs[3].name, "running_var");
  EXPECT_EQ(specs[3].kind, SliceKind::kBuffer);
  EXPECT_EQ(Make("affine = false", {4})->Params().size(), 2U);
}

TEST(BatchNormLayer, WantsAnImageOrARow) {
  EXPECT_THROW(Make("", {4, 3}), UserError);
  EXPECT_THROW(Make("momentum = 2.0", {4}), UserError);
}

TEST(BatchNormLayer, EvaluatesByRunningStatistics) {
  const auto layer = Make("epsilon = 0.0", {2});
  float x[] = {3, 8, 5, -4}, y[4], weight[] = {2, 1}, bias[] = {0, 1}, mean[] = {1, 2},
        variance[] = {4, 9};
  for (const bool reference : {false, true}) {
    const auto plan =
        layer->Plan({.batch = 2, .input = {.shape = {2}}, .target = {.reference = reference}});
    std::vector<char> scratch(plan->scratch_bytes + 64);
    EXPECT_EQ(plan->saved_bytes, 0);
    std::vector<ParamRef> params(4);
    float* values[] = {weight, bias, mean, variance};
    for (size_t p = 0; p < 4; ++p) params[p].value = {.shape = {2}, .data = values[p]};
    const Batch batch;
    plan->Forward({.batch = batch,
                   .input = {.shape = {2, 2}, .data = x},
                   .output = {.shape = {2, 2}, .data = y},
                   .params = params,
                   .scratch = scratch.data()});
    EXPECT_EQ((std::vector<float>(y, y + 4)), (std::vector<float>{2, 3, 4, -1})) << reference;
    EXPECT_EQ(mean[0], 1) << "evaluation moves nothing";
  }
}

}  // namespace yoke::batch_norm_test
