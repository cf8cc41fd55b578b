// YellowFin: the tuner against a plain restatement, against the analytic values of known ranges of
// curvature, on noisy quadratics, and where gradients misbehave.
#include "optim/rules/yellowfin_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/random.h"
#include "base/registry.h"

namespace yoke::yellowfin_test {

constexpr double kBeta = 0.999;

std::unique_ptr<UpdateRule> Make() {
  const RuleEntry& entry = FindEntry(rules(), "rule", "yellowfin");
  return entry.make(Options("train", Table{}, entry.options));
}

/// A model of one slice under the rule.
struct Model {
  explicit Model(int64_t count, float value = 1)
      : rule(Make()),
        params(Layout(count), Cpu()),
        gradients(params.layout(), Cpu()),
        state(params.layout(), *rule, Cpu()) {
    std::fill_n(params.values().Host().data(), count, value);
  }
  static ParamLayout Layout(int64_t count) {
    ParamLayout layout;
    layout.Add({.name = "w", .shape = {count}});
    layout.Pack();
    return layout;
  }
  float* w() { return params.values().Host().data(); }
  float* g() { return gradients.dense().Host().data(); }
  UpdateStep Update(std::optional<double> total = {}, double rate = 1) {
    return Apply(params, {.rule = *rule,
                          .state = state,
                          .gradients = gradients,
                          .learning_rate = rate,
                          .total_momentum = total});
  }
  YellowFinMemory Memory() { return ReadYellowFin(state.scalars()); }

  std::unique_ptr<UpdateRule> rule;
  ParamStore params;
  Gradients gradients;
  RuleState state;
};

/// The paper's tuner in doubles, with whole arrays and no shortcuts.
struct Restated {
  struct Average {
    double sum = 0, weight = 0;
    double Take(double x) {
      sum = kBeta * sum + (1 - kBeta) * x, weight = kBeta * weight + (1 - kBeta);
      return sum / weight;
    }
    double Now() const { return sum / weight; }
  };
  std::deque<double> window;
  Average high, low, norm, square, distance;
  std::vector<Average> mean;
  double early = 0, rate = 0, momentum = 0;

  void Take(const std::vector<double>& g, int t) {
    double h = 0;
    for (const double x : g) h += x * x;
    double variance = 0;  // of the updates before
    if (t > 1) {
      variance = square.Now();
      for (const Average& each : mean) variance -= each.Now() * each.Now();
      variance = std::max(variance, 0.0);
      h = std::min(h, 100 * std::exp(high.Now()));
    }
    window.push_back(h);
    if (window.size() > 20) window.pop_front();
    const double least = *std::ranges::min_element(window);
    const double h_max = std::exp(high.Take(std::log(*std::ranges::max_element(window))));
    const double h_min = std::exp(low.Take(std::log(least)));
    double length = 0;
    for (const double x : g) length += x * x;
    length = std::sqrt(length);
    const double clip = std::min(1.0, std::sqrt(h_max) / length);
    mean.resize(g.size());
    for (size_t i = 0; i < g.size(); ++i) mean[i].Take(clip * g[i]);
    const double mean_norm = norm.Take(clip * length);
    const double mean_square = square.Take(clip * length * clip * length);
    const double d = distance.Take(mean_norm / mean_square);
    // The minimum of x^2 D^2 + (1 - x)^4 C / h_min^2, searched.
    double from = 0, to = 1;
    for (int i = 0; i < 200; ++i) {
      const double x = (from + to) / 2;
      const double slope = 2 * x * d * d - 4 * std::pow(1 - x, 3) * variance / (h_min * h_min);
      (slope < 0 ? from : to) = x;
    }
    const double ratio = std::sqrt(h_max / h_min);
    const double x = std::max(from, (ratio - 1) / (ratio + 1));
    momentum = x * x;
    rate = (1 - x) * (1 - x) / std::max(h_min, least);
    if (t <= 200) early = std::max(early, rate);
    rate = std::min(rate, 100 * early) * std::min(1.0, t / 200.0);
  }
};

TEST(YellowFin, FollowsAPlainRestatement) {
  constexpr int64_t kCount = 30;
  Model model(kCount);
  Restated restated;
  std::vector<double> w(kCount, 1), d(kCount), g(kCount);
  Random random{5};
  for (int t = 1; t <= 600; ++t) {
    const double size = t == 300 ? 1000 : std::exp(random.Uniform(-1, 1));  // one bad batch
    for (int64_t i = 0; i < kCount; ++i) {
      model.g()[i] = static_cast<float>(size * (0.1 * random.Normal() + 0.05));
      g[i] = model.g()[i];
    }
    restated.Take(g, t);
    const UpdateStep step = model.Update();
    ASSERT_NEAR(step.momentum, restated.momentum, 2e-3) << t;
    ASSERT_NEAR(step.learning_rate, restated.rate, 1e-2 * restated.rate) << t;
    for (int64_t i = 0; i < kCount; ++i) {
      d[i] = step.momentum * d[i] - step.learning_rate * step.gradient_scale * g[i];
      w[i] += d[i];
      ASSERT_NEAR(model.w()[i], w[i], 1e-3 * (1 + std::abs(w[i]))) << t;
    }
  }
}

TEST(YellowFin, FindsTheRootOfItsCubic) {
  for (const double p : {1e-20, 1e-9, 1e-3, 0.5, 1.0, 30.0, 1e6, 1e20}) {
    const double x = YellowFinRoot(p);
    EXPECT_GE(x, 0);
    EXPECT_LE(x, 1);
    EXPECT_NEAR(p * x, std::pow(1 - x, 3), 1e-9 * std::max(1.0, p)) << p;
  }
}

/// Squares of gradients that go through a known range, the variance taken as 0: the robust values
/// ((sqrt k - 1) / (sqrt k + 1))^2 and (1 - sqrt mu)^2 / h_min.
TEST(YellowFin, FindsTheRobustValuesOfAKnownRangeOfCurvature) {
  for (const double k : {4.0, 25.0, 400.0}) {
    constexpr double kLow = 0.5;
    YellowFinMemory memory;
    for (int t = 0; t < 3000; ++t) {
      const double h = kLow * std::pow(k, (t % 10) / 9.0);
      Advance({}, {.gradient_square = h, .state_square = 1e30, .elements = 1}, t, memory);
    }
    const double root = (std::sqrt(k) - 1) / (std::sqrt(k) + 1);
    const double rate = (1 - root) * (1 - root) / kLow;
    EXPECT_NEAR(memory.momentum, root * root, 0.005) << k;
    EXPECT_NEAR(memory.rate, rate, 0.03 * rate) << k;
  }
}

/// The sum of h_i w_i^2 / 2 over curvatures from 0.1 to 1, with gradient noise.
TEST(YellowFin, ConvergesOnANoisyQuadratic) {
  for (const uint64_t seed : {1, 2, 3}) {
    constexpr int64_t kCount = 100;
    Model model(kCount, 3);
    Random random{seed};
    double late = 0;
    for (int t = 0; t < 4000; ++t) {
      for (int64_t i = 0; i < kCount; ++i) {
        const double h = 0.1 + 0.9 * static_cast<double>(i) / (kCount - 1);
        model.g()[i] = static_cast<float>(h * model.w()[i] + 0.1 * random.Normal());
      }
      const UpdateStep step = model.Update();
      ASSERT_LT(step.momentum, 1);
      double square = 0;
      for (int64_t i = 0; i < kCount; ++i) square += double{model.w()[i]} * model.w()[i];
      ASSERT_LT(square, 2 * 9 * kCount) << t;
      if (t >= 3000) late += square / kCount / 1000;
    }
    EXPECT_LT(late, 0.25) << seed;  // from 9
  }
}

TEST(YellowFin, OneBadBatchDoesNotBlowItUp) {
  Model model(16);
  std::fill_n(model.g(), 16, 0.1F);
  for (int t = 0; t < 500; ++t) {
    model.g()[t % 16] = t % 2 ? 0.2F : 0.1F;
    model.Update();
  }
  const YellowFinMemory before = model.Memory();
  const std::vector<float> w(model.w(), model.w() + 16);
  std::fill_n(model.g(), 16, 1e6F);
  const UpdateStep step = model.Update();
  EXPECT_LT(step.gradient_scale, 1e-5);
  EXPECT_NEAR(model.Memory().momentum, before.momentum, 0.1);
  EXPECT_NEAR(model.Memory().rate, before.rate, 0.1 * before.rate);
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(model.w()[i], w[i], 3) << i;
}

TEST(YellowFin, VanishingGradientsDoNotLetTheRateRiseForEver) {
  Model model(16, 0);
  for (int t = 0; t < 6000; ++t) {
    std::fill_n(model.g(), 16, std::exp(-static_cast<float>(t) / 200));
    model.Update();
  }
  EXPECT_LE(model.Memory().rate, 100 * model.Memory().early_rate);
  std::vector<float> before(model.w(), model.w() + 16);
  std::fill_n(model.g(), 16, 1.0F);
  for (int t = 0; t < 100; ++t) model.Update();
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(model.w()[i], before[i], 1);
}

TEST(YellowFin, GradientsOfZeroChangeNoNumbers) {
  Model model(16);
  std::fill_n(model.g(), 16, 0.5F);
  for (int t = 0; t < 30; ++t) model.Update();
  const std::vector<float> before(model.state.scalars().begin(), model.state.scalars().end());
  std::fill_n(model.g(), 16, 0.0F);
  model.Update();
  EXPECT_TRUE(std::ranges::equal(model.state.scalars(), before));
}

TEST(YellowFin, LearningRateIsAFactor) {
  Model one(16), half(16);
  for (int t = 0; t < 50; ++t) {
    for (Model* model : {&one, &half})
      std::fill_n(model->g(), 16, 0.1F * static_cast<float>(1 + t % 5));
    EXPECT_EQ(one.Update().learning_rate, 2 * half.Update({}, 0.5).learning_rate);
  }
}

/// Statistics of other slices say nothing: a served head's, or the whole model's after it.
TEST(YellowFin, StartsAnewForOtherSlices) {
  Model model(16);
  std::fill_n(model.g(), 16, 0.5F);
  for (int t = 0; t < 300; ++t) model.Update();
  YellowFinMemory memory = model.Memory();
  Advance({}, {.gradient_square = 9, .elements = 7}, 300, memory);
  EXPECT_EQ(memory.updates, 1);
  EXPECT_NEAR(memory.rate, 1.0 / 9 / 200, 1e-6);
}

/// Of an element with momentum of its own besides: the explicit one falls until the sum is right.
TEST(YellowFin, FeedbackBringsTheTotalMomentumToItsTarget) {
  constexpr double kBrought = 0.3;
  YellowFinMemory memory;
  for (int t = 0; t < 3000; ++t) {
    const UpdateFacts facts = {.gradient_square = t % 10 == 0 ? 9.0 : 1.0,
                               .state_square = 0,
                               .elements = 1,
                               .total_momentum = 1 - (1 - memory.momentum) * (1 - kBrought)};
    Advance({}, facts, t, memory);
  }
  EXPECT_NEAR(1 - (1 - memory.momentum) * (1 - kBrought), memory.target, 1e-3);
  EXPECT_LT(memory.momentum, memory.target - 0.1);
  // Without a measurement the explicit momentum is the target again.
  for (int t = 0; t < 2000; ++t) Advance({}, {.gradient_square = 1, .elements = 1}, 3000, memory);
  EXPECT_NEAR(memory.momentum, memory.target, 1e-3);
}

}  // namespace yoke::yellowfin_test
