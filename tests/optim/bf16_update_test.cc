// Bf16Update: stochastic rounding is exact in the mean and repeats; rows in bf16 under all rules.
#include "optim/bf16_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/registry.h"
#include "optim/racing.h"

namespace yoke::bf16_update_test {

constexpr int64_t kRows = 6, kWidth = 37;

float Rounded(float value, uint64_t key) {
  Bf16 to;
  RoundStochastically(&value, 1, key, &to);
  return static_cast<float>(to);
}

std::unique_ptr<UpdateRule> Make(const std::string& name) {
  const RuleEntry& entry = FindEntry(rules(), "rule", name);
  return entry.make(Options("train", Table{}, entry.options));
}

ParamLayout LayoutOf(DType type) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {kRows, kWidth}, .kind = SliceKind::kRowSparse});
  layout.Add({.name = "a.bias", .shape = {kRows}, .kind = SliceKind::kRowSparse});
  layout.StoreRowsAs(type);
  layout.Pack();
  return layout;
}

/// A matrix of rows and its bias under one rule.
struct Model {
  Model(const UpdateRule& r, DType type, const Rounding& rounding = {})
      : rule(r),
        params(LayoutOf(type), Cpu()),
        gradients(params.layout(), Cpu()),
        state(params.layout(), rule, Cpu(), rounding) {}
  void Draw(const std::vector<int32_t>& ids, uint64_t draw) {
    for (const int slice : {0, 1}) {
      RowGradient& rows = gradients.rows(slice);
      rows.ids = ids;
      rows.values.resize(ids.size() * params.layout().slices()[slice].RowWidth());
      Random random{draw};
      for (float& g : rows.values) g = static_cast<float>(random.Uniform(-1, 1));
    }
  }
  void Step(double rate = 0.1) {
    Apply(params, {.rule = rule, .state = state, .gradients = gradients, .learning_rate = rate});
  }
  std::vector<float> Weights() const {
    const Slice& slice = params.layout().slices()[0];
    const float* places = params.values(0).Host().data();
    if (slice.type == DType::kF32) return {places, places + slice.Count()};
    const auto* stored = reinterpret_cast<const Bf16*>(places);
    std::vector<float> values;
    for (int64_t i = 0; i < slice.Count(); ++i) values.push_back(static_cast<float>(stored[i]));
    return values;
  }

  const UpdateRule& rule;
  ParamStore params;
  Gradients gradients;
  RuleState state;
};

TEST(RoundStochastically, GivesBothNeighboursWithTheExactMean) {
  const float low = 1.0F, high = 1.0F + 0x1p-7F, value = 1.0F + 0.3F * 0x1p-7F;
  double sum = 0;
  constexpr int kDraws = 20000;
  for (uint64_t key = 0; key < kDraws; ++key) {
    const float rounded = Rounded(value, Random::Mix(key));
    ASSERT_TRUE(rounded == low || rounded == high) << rounded;
    sum += rounded;
  }
  EXPECT_NEAR((sum / kDraws - low) / (high - low), 0.3, 0.015);
}

TEST(RoundStochastically, KeepsWhatNeedsNoRounding) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (uint64_t key = 0; key < 100; ++key) {
    for (const float value : {0.0F, -0.0F, 1.5F, -3.0F, infinity, -infinity})
      EXPECT_EQ(Rounded(value, key), value);
    EXPECT_TRUE(std::isnan(Rounded(std::nanf(""), key)));
  }
}

TEST(RoundStochastically, KeepsTheLargestNumbersFinite) {
  const float largest = std::numeric_limits<float>::max(), most = 0x1.FEp127F;  // of bf16
  for (uint64_t key = 0; key < 100; ++key)
    for (const float sign : {1.0F, -1.0F}) EXPECT_EQ(Rounded(sign * largest, key), sign * most);
}

TEST(RoundStochastically, ElementsDrawApart) {
  const std::vector<float> values(101, 1.0F + 0x1p-8F);
  std::vector<Bf16> to(values.size());
  int ups = 0;
  for (uint64_t key = 0; key < 100; ++key) {
    RoundStochastically(values.data(), std::ssize(values), Random::Mix(key), to.data());
    for (const Bf16 x : to) ups += static_cast<float>(x) > 1 ? 1 : 0;
  }
  EXPECT_NEAR(ups / 10100.0, 0.5, 0.02);
}

TEST(Bf16Rows, FollowThoseInF32) {
  for (const RuleEntry& entry : rules()) {
    const auto rule = Make(entry.name);
    if (rule->Scalars() > 0) continue;  // it sees the state of dense slices alone (UpdateFacts)
    const double rate = rule->Reach() > 0 ? 0.1 : 0.01;  // of others a step is about as long
    Model wide(*rule, DType::kF32), narrow(*rule, DType::kBf16);
    for (uint64_t step = 1; step <= 20; ++step)
      for (Model* model : {&wide, &narrow})
        model->Draw(step % 2 ? std::vector<int32_t>{0, 2, 5} : std::vector<int32_t>{1, 2}, step),
            model->Step(rate);
    const std::vector<float> a = wide.Weights(), b = narrow.Weights();
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 0.1) << entry.name << " element " << i;
  }
}

TEST(Bf16Rows, NearestLosesSmallUpdatesAndStochasticDoesNot) {
  const auto rule = Make("sgd");
  Model nearest(*rule, DType::kBf16, {.stochastic = false}), stochastic(*rule, DType::kBf16);
  for (Model* model : {&nearest, &stochastic}) {
    model->Draw({0, 1, 2, 3, 4, 5}, 1);
    std::ranges::fill(model->gradients.rows(0).values, -1.0F);
    model->Step(1);  // to 1
    for (int step = 0; step < 100; ++step) model->Step(0.001);
  }
  EXPECT_EQ(nearest.Weights(), std::vector<float>(kRows * kWidth, 1.0F));
  double mean = 0;
  for (const float w : stochastic.Weights()) mean += w / (kRows * kWidth);
  EXPECT_NEAR(mean, 1.1, 0.01);
}

TEST(Bf16Rows, RepeatByTheSeed) {
  const auto rule = Make("adam");
  Model a(*rule, DType::kBf16, {.seed = 3}), b(*rule, DType::kBf16, {.seed = 3}),
      c(*rule, DType::kBf16, {.seed = 4});
  for (uint64_t step = 1; step <= 3; ++step)
    for (Model* model : {&a, &b, &c}) model->Draw({0, 3}, step), model->Step();
  EXPECT_EQ(a.Weights(), b.Weights());
  EXPECT_NE(a.Weights(), c.Weights());
}

TEST(Bf16Rows, RacingMakesTheSameUpdate) {
  for (const bool stochastic : {true, false}) {
    const auto rule = Make("adam");
    Model a(*rule, DType::kBf16, {.stochastic = stochastic}),
        b(*rule, DType::kBf16, {.stochastic = stochastic});
    RacingUpdates racing(b.params.layout(), *rule, b.state, nullptr, /*locked=*/true);
    for (uint64_t step = 1; step <= 3; ++step) {
      a.Draw({1, 4}, step), a.Step();
      b.Draw({1, 4}, step);
      for (const int slice : {0, 1})
        racing.Apply(slice, b.params.values().Host().data(), b.gradients, {.learning_rate = 0.1});
    }
    EXPECT_EQ(a.Weights(), b.Weights());
  }
}

TEST(Bf16Rows, TakeHalfTheMemory) {
  const auto rule = Make("adam");
  const Model wide(*rule, DType::kF32), narrow(*rule, DType::kBf16);
  EXPECT_EQ(wide.params.layout().slices()[0].Places(), kRows * kWidth);
  EXPECT_EQ(narrow.params.layout().slices()[0].Places(), kRows * kWidth / 2);
  EXPECT_EQ(narrow.params.layout().slices()[1].type, DType::kF32);
  EXPECT_LT(narrow.state.bytes(), wide.state.bytes());
}

}  // namespace yoke::bf16_update_test
