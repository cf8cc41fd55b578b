// Every update rule against a plain restatement of its recurrence in double, over several steps and
// sizes, and on a device against the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/random.h"
#include "base/registry.h"
#include "optim/layerwise.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::rules_conformance_test {

constexpr double kDecay = 0.1, kMomentum = 0.8, kBeta1 = 0.85, kBeta2 = 0.95, kEpsilon = 1e-6;
constexpr double kBeta = 0.9, kFeedback = 0.01, kAdamRate = 0.5;

/// One number with its state, and what a rule does to it.
struct Number {
  double w = 0, a = 0, b = 0;
};
using Recurrence = void (*)(Number& x, double g, double rate, int t);

void AdamStep(Number& x, double g, double rate, int t) {
  x.a = kBeta1 * x.a + (1 - kBeta1) * g;
  x.b = kBeta2 * x.b + (1 - kBeta2) * g * g;
  const double mean = x.a / (1 - std::pow(kBeta1, t));
  const double square = x.b / (1 - std::pow(kBeta2, t));
  x.w -= rate * mean / (std::sqrt(square) + kEpsilon);
}

void AdamWStep(Number& x, double g, double rate, int t) {
  x.w -= rate * kDecay * x.w;
  AdamStep(x, g, rate, t);
}

const std::map<std::string, Recurrence>& Recurrences() {
  static const std::map<std::string, Recurrence> map = {
      {"sgd", [](Number& x, double g, double rate, int) { x.w -= rate * (g + kDecay * x.w); }},
      {"momentum",
       [](Number& x, double g, double rate, int) {
         x.a = kMomentum * x.a + g + kDecay * x.w;
         x.w -= rate * x.a;
       }},
      {"nesterov",
       [](Number& x, double g, double rate, int) {
         g += kDecay * x.w;
         x.a = kMomentum * x.a + g;
         x.w -= rate * (g + kMomentum * x.a);
       }},
      {"adam",
       [](Number& x, double g, double rate, int t) { AdamStep(x, g + kDecay * x.w, rate, t); }},
      {"adamw", AdamWStep},
      {"lamb", AdamWStep},  // of what is not updated as a layer (layerwise_test.cc)
      {"muon",
       [](Number& x, double g, double rate, int t) { AdamWStep(x, g, kAdamRate * rate, t); }},
      {"adagrad",
       [](Number& x, double g, double rate, int) {
         g += kDecay * x.w;
         x.a += g * g;
         x.w -= rate * g / (std::sqrt(x.a) + kEpsilon);
       }},
      {"rmsprop",
       [](Number& x, double g, double rate, int) {
         g += kDecay * x.w;
         x.a = kBeta2 * x.a + (1 - kBeta2) * g * g;
         x.w -= rate * g / (std::sqrt(x.a) + kEpsilon);
       }},
      {"lion",
       [](Number& x, double g, double rate, int) {
         const double u = kBeta1 * x.a + (1 - kBeta1) * g;
         x.a = kBeta2 * x.a + (1 - kBeta2) * g;
         x.w -= rate * ((u > 0) - (u < 0) + kDecay * x.w);
       }},
      {"yellowfin",  // with the momentum of the step
       [](Number& x, double g, double rate, int) {
         x.a = kBeta * x.a + (1 - kBeta) * g;
         x.b = kMomentum * x.b - rate * (g + kDecay * x.w);
         x.w += x.b;
       }},
  };
  return map;
}

/// velocity: of rules that have this key; null: not given.
std::unique_ptr<UpdateRule> Make(const RuleEntry& entry, const char* velocity = nullptr) {
  const std::map<std::string, double> values = {{"momentum", kMomentum}, {"weight_decay", kDecay},
                                                {"beta", kBeta},         {"feedback", kFeedback},
                                                {"beta1", kBeta1},       {"beta2", kBeta2},
                                                {"epsilon", kEpsilon},   {"adam_rate", kAdamRate}};
  Table given;
  for (const OptionSpec& spec : entry.options)
    if (spec.name != "velocity")
      given.emplace_back(spec.name, values.at(spec.name));
    else if (velocity)
      given.emplace_back(spec.name, velocity);
  return entry.make(Options("train", given, entry.options));
}

TEST(Rules, FollowTheirRecurrences) {
  constexpr double kRate = 0.05, kScale = 0.5;
  for (const RuleEntry& entry : rules()) {
    ASSERT_TRUE(Recurrences().contains(entry.name)) << "restate " << entry.name << " here";
    const auto rule = Make(entry);
    const double room = entry.name == "rmsprop" ? 4e-5 : 2e-5;  // its first steps are the longest
    for (int64_t count : {1, 17, 40'000}) {
      Random random{7, static_cast<uint64_t>(count)};
      std::vector<float> w(count), g(count), a(count), b(count);
      std::vector<Number> expected(count);
      for (int64_t i = 0; i < count; ++i) {
        w[i] = static_cast<float>(random.Uniform(-1, 1));
        expected[i].w = w[i];
      }
      for (int t = 1; t <= 5; ++t) {
        for (int64_t i = 0; i < count; ++i) {
          g[i] = static_cast<float>(random.Uniform(-1, 1));
          Recurrences().at(entry.name)(expected[i], kScale * g[i], kRate, t);
        }
        rule->Update(
            {.values = w.data(),
             .gradient = g.data(),
             .state = {a.data(), b.data()},
             .count = count},
            {.learning_rate = kRate, .step = t, .gradient_scale = kScale, .momentum = kMomentum});
        for (int64_t i = 0; i < count; ++i)
          ASSERT_NEAR(w[i], expected[i].w, room) << entry.name << " step " << t << " number " << i;
      }
    }
  }
}

TEST(Rules, HaveTheSameBitsWhateverTheWidthOfTheirVectors) {
  constexpr int64_t kCount = 1 + 4 + 8 + 16 + 64;
  for (const RuleEntry& entry : rules()) {
    std::vector<float> arrays[4];  // w, g, a, b; a square is not below that of its mean
    Random random{8};
    for (std::vector<float>& array : arrays)
      for (int64_t i = 0; i < kCount; ++i) array.push_back(float(random.Uniform(0.5, 1)));
    std::vector<float> alone[4] = {arrays[0], arrays[1], arrays[2], arrays[3]};
    const auto update = [&](std::vector<float>(&of)[4], int64_t at, int64_t count) {
      Make(entry)->Update({.values = &of[0][at],
                           .gradient = &of[1][at],
                           .state = {&of[2][at], &of[3][at]},
                           .count = count},
                          {.learning_rate = 0.05, .step = 3, .gradient_scale = 0.7});
    };
    update(arrays, 0, kCount);
    for (int64_t i = 0; i < kCount; ++i) update(alone, i, 1);
    for (const int array : {0, 2, 3}) EXPECT_EQ(arrays[array], alone[array]) << entry.name;
  }
}

/// You, Buluç, Demmel (SC17, equations 3 and 4) and Sutskever et al., where the rate falls.
TEST(Rules, KeepTheRateInAVelocityOfSteps) {
  constexpr double kScale = 0.5;
  for (const bool nesterov : {false, true}) {
    const auto rule = Make(FindEntry(rules(), "rule", nesterov ? "nesterov" : "momentum"), "steps");
    float w = 0.75F, v = 0;
    double expected = w, velocity = 0;
    for (int t = 1; t <= 20; ++t) {
      const double rate = t <= 10 ? 0.05 : 0.01;
      const auto g = static_cast<float>(std::cos(t));
      const double step = rate * (kScale * g + kDecay * expected);
      velocity = kMomentum * velocity - step;
      expected += nesterov ? kMomentum * velocity - step : velocity;
      rule->Update({.values = &w, .gradient = &g, .state = {&v}, .count = 1},
                   {.learning_rate = rate, .step = t, .gradient_scale = kScale});
      ASSERT_NEAR(w, expected, 1e-6) << "step " << t << (nesterov ? " of nesterov" : "");
    }
    EXPECT_EQ(rule->StateNames(), std::vector<std::string>{"velocity"});
  }
}

/// At one rate the two velocities differ by this factor, and the values not at all.
TEST(Rules, DoTheSameWithEitherVelocityAtOneRate) {
  for (const char* name : {"momentum", "nesterov"}) {
    const RuleEntry& entry = FindEntry(rules(), "rule", name);
    std::array<float, 2> w = {1, 1}, state = {};
    for (int t = 1; t <= 6; ++t)
      for (const size_t i : {0, 1}) {
        const auto rule = Make(entry, i == 0 ? "gradients" : "steps")->Spread(3);
        const auto g = static_cast<float>(std::cos(t));
        const UpdateSpan span = {.values = &w[i], .gradient = &g, .state = {&state[i]}, .count = 1};
        rule->Update(span, {.learning_rate = 0.05, .step = t});
        rule->ApplyMomentum(span, {.learning_rate = 0.05, .step = t}, 4);
      }
    EXPECT_NEAR(w[0], w[1], 1e-6) << name;
    EXPECT_NEAR(0.05F * state[0], state[1], 1e-6) << name;
  }
}

/// A value of 1 after updates with these gradients and decay 0, and its state.
struct Course {
  float value = 1;
  std::array<float, kMaxStateArrays> state = {};
  int64_t steps = 0;
  UpdateSpan Span(const float* gradient = nullptr) {
    UpdateSpan span{.values = &value, .gradient = gradient, .count = 1};
    for (size_t i = 0; i < state.size(); ++i) span.state[i] = &state[i];
    return span;
  }
  void Go(const UpdateRule& rule, float gradient, int times) {
    for (int i = 0; i < times; ++i)
      rule.Update(Span(&gradient), {.learning_rate = 1e-3, .step = ++steps});
  }
};

std::unique_ptr<UpdateRule> MakeWithoutDecay(const RuleEntry& entry) {
  Table given;
  if (std::ranges::count(entry.options, "weight_decay", &OptionSpec::name) > 0)
    given.emplace_back("weight_decay", 0.0);
  return entry.make(Options("train", given, entry.options));
}

TEST(Rules, ApplyMomentumAsUpdatesWithoutGradientsDo) {
  for (const RuleEntry& entry : rules()) {
    SCOPED_TRACE(entry.name);
    const auto rule = MakeWithoutDecay(entry);
    Course course;
    course.Go(*rule, 2, 3000);  // Adam's corrections are near 1 then
    Course coasts = course;
    coasts.Go(*rule, 0, 6);
    rule->ApplyMomentum(course.Span(), {.learning_rate = 1e-3, .step = course.steps}, 6);
    EXPECT_NEAR(course.value, coasts.value, 1e-5);
  }
}

TEST(Rules, SpreadReachAsFarInAsManyTimesTheUpdates) {
  for (const RuleEntry& entry : rules()) {
    SCOPED_TRACE(entry.name);
    const auto rule = MakeWithoutDecay(entry), spread = rule->Spread(8);
    if (rule->StateNames().empty() || rule->Scalars() > 0) {
      EXPECT_EQ(spread, nullptr);
      EXPECT_EQ(rule->Reach(), rule->Scalars() > 0 ? 0 : 1);
      continue;
    }
    ASSERT_NE(spread, nullptr);
    Course one, many;
    one.Go(*rule, 2, 1);
    many.Go(*spread, 2, 1);
    one.Go(*rule, 0, 300);
    many.Go(*spread, 0, 2400);
    if (rule->Reach() == 0) continue;  // a single gradient's step does not tell its length
    EXPECT_NEAR(rule->Reach(), 10, 1e-5);
    EXPECT_NEAR(1 - one.value, 1e-3 * 2 * rule->Reach(), 1e-4);
    EXPECT_NEAR(1 - many.value, 1 - one.value, 1e-4);
  }
}

TEST(Rules, AdamSpreadForgetsAsFastInTime) {
  for (const char* name : {"adam", "adamw"}) {
    const auto rule = MakeWithoutDecay(FindEntry(rules(), "rule", name)), spread = rule->Spread(8);
    Course one, many;
    one.Go(*rule, 2, 40), many.Go(*spread, 2, 320);
    one.Go(*rule, 0, 10), many.Go(*spread, 0, 80);
    for (const size_t i : {0, 1}) EXPECT_NEAR(many.state[i], one.state[i], 1e-4) << name;
  }
}

TEST(Rules, RefuseADecayThatTakesNothingNewIn) {
  for (const RuleEntry& entry : rules())
    for (const OptionSpec& spec : entry.options)
      if (spec.name.starts_with("beta")) {
        EXPECT_THROW(Options("train", Table{{spec.name, 1}}, entry.options), UserError);
      }
}

TEST(Rules, NameAsManyStatesAsTheyUse) {
  const std::map<std::string, size_t> states = {{"sgd", 0},     {"momentum", 1}, {"nesterov", 1},
                                                {"adam", 2},    {"adamw", 2},    {"adagrad", 1},
                                                {"rmsprop", 1}, {"lion", 1},     {"lamb", 2},
                                                {"muon", 2},    {"yellowfin", 2}};
  for (const RuleEntry& entry : rules())
    EXPECT_EQ(Make(entry)->StateNames().size(), states.at(entry.name)) << entry.name;
}

TEST(Rules, LeaveZerosAloneWhereTheGradientIsZero) {  // the gaps of alignment
  for (const RuleEntry& entry : rules()) {
    std::array<float, 16> w = {}, g = {}, a = {}, b = {};
    Make(entry)->Update(
        {.values = w.data(), .gradient = g.data(), .state = {a.data(), b.data()}, .count = 16},
        {.learning_rate = 0.1});
    for (float x : w) EXPECT_EQ(x, 0.0F) << entry.name;
  }
}

TEST(Rules, AdamKeepsItsWeightsWhereAnUpdateOfItsStateWasLost) {  // as where threads race
  for (const char* name : {"adam", "adamw"}) {
    std::array<float, 4> w = {1, 1, 1, 1}, g = {}, m = {0.1F, -0.1F, 1, 0}, v = {0, 0, 1e-8F, 0};
    Make(FindEntry(rules(), "rule", name))
        ->Update(
            {.values = w.data(), .gradient = g.data(), .state = {m.data(), v.data()}, .count = 4},
            {.learning_rate = 0.01, .step = 100});
    for (const float x : w) EXPECT_NEAR(x, 1, 0.1) << name;
  }
}

struct DeviceCase {
  double clip_norm = 0;
  SliceRange slices = {};
};

/// Values and state arrays on a device after four updates by Apply.
std::vector<std::vector<float>> AfterUpdates(const UpdateRule& rule, Device& device,
                                             const DeviceCase& settings) {
  ParamLayout layout;
  for (const int64_t count : {20'011, 1, 37, 40})
    layout.Add({.name = std::to_string(count), .shape = {count}, .initializer = "ones"});
  layout.Add({.name = "mean", .shape = {5}, .kind = SliceKind::kBuffer, .initializer = "ones"});
  layout.Pack();
  ParamStore params(layout, device);
  Initialize(params, 1);
  Gradients gradients(layout, device);
  RuleState state(layout, rule, device);
  for (uint64_t step = 1; step <= 4; ++step) {
    HostCopy copy;
    const std::span<float> gradient = copy.Of(gradients.dense());
    Random random{step};
    for (const Slice& slice : layout.slices())
      for (int64_t i = 0; slice.kind == SliceKind::kDense && i < slice.Count(); ++i)
        gradient[slice.offset + i] = static_cast<float>(random.Normal());
    copy.Write(gradients.dense());
    Apply(params, {.rule = rule,
                   .state = state,
                   .gradients = gradients,
                   .learning_rate = 0.05,
                   .clip_norm = settings.clip_norm,
                   .gradient_scale = 0.5,
                   .slices = settings.slices});
  }
  EXPECT_EQ(state.steps, 4);
  std::vector<std::vector<float>> arrays = {ValuesOf(params.values())};
  for (size_t i = 0; i < state.names().size(); ++i)
    arrays.push_back(ValuesOf(state.array(static_cast<int>(i))));
  return arrays;
}

TEST(Rules, HaveTheHostsBitsOnADevice) {
  const auto device = NewEmulatedDevice(0, {});
  for (const RuleEntry& entry : rules())
    for (const char* velocity : {"gradients", "steps"})
      for (const double clip_norm : {0, 1})
        for (const SliceRange slices : {SliceRange(), {1, 3}, {2, SliceRange::kEnd}}) {
          const auto rule = Make(entry, velocity);
          if (dynamic_cast<const LayerwiseRule*>(rule.get())) continue;  // refused there
          const DeviceCase settings{.clip_norm = clip_norm, .slices = slices};
          EXPECT_EQ(AfterUpdates(*rule, *device, settings), AfterUpdates(*rule, Cpu(), settings))
              << entry.name << " clip " << clip_norm << " from slice " << slices.begin;
        }
}

}  // namespace yoke::rules_conformance_test
