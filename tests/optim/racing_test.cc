// Racing: threads update the same values at once, and locks lose no update.
#include "optim/racing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "base/registry.h"

namespace yoke::racing_test {

constexpr int kThreads = 2, kUpdates = 100, kRowWidth = 40;

ParamLayout DenseAndRows() {
  ParamLayout layout;
  layout.Add({.name = "dense.weight", .shape = {5000}, .initializer = "zeros"});
  layout.Add({.name = "rows.weight",
              .shape = {4, kRowWidth},
              .kind = SliceKind::kRowSparse,
              .initializer = "zeros"});
  layout.Pack();
  return layout;
}

/// Plain descent that sleeps between reading values and writing them, so that others run meanwhile.
class SleepingDescent : public UpdateRule {
 public:
  const char* name() const override { return "sleeping descent"; }
  std::vector<std::string> StateNames() const override { return {}; }
  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (int64_t i = 0; i < span.count; ++i)
      span.values[i] -= static_cast<float>(step.learning_rate) * span.gradient[i];
  }
};

/// Threads add one to each value at the same time.
class Racing : public testing::Test {
 protected:
  void TrainLocked() {
    const SleepingDescent rule;
    RuleState state(layout_, rule, Cpu());
    RacingUpdates racing(layout_, rule, state, nullptr, true);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&] { Update(racing); });
    for (std::thread& thread : threads) thread.join();
    clock_ = state.row_steps(1).Host()[0];
  }
  /// Of all updates of all values, those that arrived.
  double Kept() {
    double sum = 0;
    for (int slice : {0, 1})
      for (const float value : params_.values(slice).Host()) sum += value;
    return sum / (double(layout_.Parameters()) * kThreads * kUpdates);
  }

  ParamLayout layout_ = DenseAndRows();
  ParamStore params_{layout_, Cpu()};
  int32_t clock_ = 0;  ///< Of the first row.

 private:
  void Update(RacingUpdates& racing) {
    Gradients gradients(layout_, Cpu());
    std::ranges::fill(gradients.dense().Host(), -1.0F);
    gradients.rows(1).ids = {0, 1, 2, 3};
    gradients.rows(1).values.assign(4 * kRowWidth, -1);
    for (int i = 0; i < kUpdates; ++i)
      for (const int slice : {0, 1})
        racing.Apply(slice, params_.values().Host().data(), gradients, {.learning_rate = 1});
  }
};

TEST_F(Racing, LocksLoseNoUpdate) {
  TrainLocked();
  EXPECT_EQ(Kept(), 1);
  EXPECT_EQ(clock_, kThreads * kUpdates);
}

TEST_F(Racing, PartsOfARateByHowOftenARowIsTouched) {
  constexpr double kRate = 0.01, kParts = 16, kSteps = 1600;
  for (const char* name : {"adam", "sgd"}) {
    const RuleEntry& entry = FindEntry(rules(), "rule", name);
    const auto rule = entry.make(Options("train", Table{}, entry.options));
    const bool adam = name == std::string("adam");
    RuleState state(layout_, *rule, Cpu());
    RacingUpdates racing(layout_, *rule, state);
    Gradients gradients(layout_, Cpu());
    std::ranges::fill(gradients.dense().Host(), 1.0F);
    std::ranges::fill(params_.values().Host(), 0.0F);
    for (int64_t step = 1; step <= kSteps; ++step) {
      gradients.rows(1).ids = step == kSteps ? std::vector{0, 1} : std::vector{0};
      gradients.rows(1).values.assign(2 * kRowWidth, 1);
      for (const int slice : {0, 1})
        racing.Apply(slice, params_.values().Host().data(), gradients,
                     {.learning_rate = kRate, .step = step}, kParts);
    }
    const auto rows = params_.values(1).Host();
    const double each = kRate / (adam ? 4 : 16), once = adam ? kRate : each;
    EXPECT_NEAR(params_.values(0).Host()[0], -each * kSteps, 1e-3) << name;
    EXPECT_NEAR(rows[0], -each * kSteps, 1e-3) << name << ": in every update";
    EXPECT_NEAR(rows[kRowWidth], -once, 0.02 * once) << name << ": in one";
  }
}

TEST_F(Racing, PartsDecayAsMuchAsTheWhole) {
  constexpr double kRate = 0.5, kDecay = 0.01, kParts = 16, kSteps = 160;
  const RuleEntry& entry = FindEntry(rules(), "rule", "adamw");
  const auto rule =
      entry.make(Options("train", Value(Table{{"weight_decay", kDecay}}), entry.options));
  for (const DType type : {DType::kF32, DType::kBf16}) {
    ParamLayout layout = DenseAndRows();
    layout.StoreRowsAs(type);
    layout.Pack();
    ParamStore params(layout, Cpu());
    RuleState state(layout, *rule, Cpu());
    RacingUpdates racing(layout, *rule, state);
    Gradients gradients(layout, Cpu());
    std::ranges::fill(params.values(0).Host(), 1.0F);
    const bool bf16 = type == DType::kBf16;
    auto* const rows = params.values(1).Host().data();
    auto* const stored = reinterpret_cast<Bf16*>(rows);
    for (int i = 0; i < 2 * kRowWidth; ++i) bf16 ? void(stored[i] = Bf16(1)) : void(rows[i] = 1);
    for (int64_t step = 1; step <= kSteps; ++step) {
      gradients.rows(1).ids = step == kSteps ? std::vector{0, 1} : std::vector{0};
      gradients.rows(1).values.assign(gradients.rows(1).ids.size() * kRowWidth, 0);
      for (const int slice : {0, 1})
        racing.Apply(slice, params.values().Host().data(), gradients,
                     {.learning_rate = kRate, .step = step}, kParts);
    }
    const auto mean_of = [&](int row) {
      double sum = 0;
      for (int i = row * kRowWidth; i < (row + 1) * kRowWidth; ++i)
        sum += bf16 ? static_cast<float>(stored[i]) : rows[i];
      return sum / kRowWidth;
    };
    const double each = 1 - kRate * kDecay / kParts;
    EXPECT_NEAR(params.values(0).Host()[0], std::pow(each, kSteps), 1e-4);
    EXPECT_NEAR(mean_of(0), std::pow(each, kSteps), bf16 ? 0.01 : 1e-4) << "in every update";
    EXPECT_NEAR(mean_of(1), 1 - kRate * kDecay, bf16 ? 2e-3 : 1e-3) << "in one";
  }
}

}  // namespace yoke::racing_test
