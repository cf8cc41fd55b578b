// CUDA's kernel of updates on the host's grid, beside each rule: runs, parts with their settings,
// touched rows, and a stop.
#include "kernels/support/cuda_host.h"
//
#include "kernels/cuda/updates.h"
#include "optim/rule.h"

namespace yoke::cuda_updates_test {

using namespace cuda;  // NOLINT(google-build-using-namespace): it is what is tested

/// Every rule, with and without weight decay, and as Spread makes it.
std::vector<std::unique_ptr<UpdateRule>> AllRules() {
  std::vector<std::unique_ptr<UpdateRule>> all;
  for (const RuleEntry& entry : rules())
    for (const double decay : {0.0, 0.1})
      for (const bool steps : {false, true}) {
        Table table = {{"weight_decay", decay}};
        const bool has_velocity = std::ranges::any_of(
            entry.options, [](const OptionSpec& option) { return option.name == "velocity"; });
        if (steps && !has_velocity) continue;
        if (steps) table.emplace_back("velocity", std::string("steps"));
        auto rule = entry.make(Options("train", table, entry.options));
        if (rule->Constants().formula == UpdateFormula::kNone) continue;  // on the CPU alone
        if (auto spread = rule->Spread(3)) all.push_back(std::move(spread));
        all.push_back(std::move(rule));
      }
  return all;
}

/// Values and state.
struct Arrays {
  std::vector<Elements> arrays;
  UpdateSpan span;

  Arrays(const UpdateRule& rule, int64_t count) {
    for (size_t i = 0; i <= rule.StateNames().size(); ++i)
      arrays.push_back(i == 0 ? Drawn(DType::kF32, count, 1)
                              : Elements(DType::kF32, std::vector<float>(count)));
    span.count = count;
    span.values = arrays[0].f32();
    for (size_t i = 1; i < arrays.size(); ++i) span.state[i - 1] = arrays[i].f32();
  }
  UpdateSpan Part(int64_t begin, int64_t count, const float* gradient) const {
    UpdateSpan part = span;
    part.values += begin;
    for (float*& state : part.state)
      if (state) state += begin;
    part.gradient = gradient;
    part.count = count;
    return part;
  }
};

void ExpectSame(Arrays& ours, Arrays& rule, const char* name) {
  SCOPED_TRACE(name);
  for (size_t i = 0; i < ours.arrays.size(); ++i)
    ExpectNear(ours.arrays[i], rule.arrays[i], i == 0 ? "values" : "state", 2e-6F);
}

constexpr int64_t kCount = 2500;

UpdateStep StepNumber(int64_t number) {
  UpdateStep step = {.learning_rate = 0.03, .step = number, .gradient_scale = 0.5, .momentum = 0.7};
  if (number % 2 == 0) step.decay_rate = 0.2;
  return step;
}

TEST(CudaUpdates, OfARun) {
  for (const auto& rule : AllRules()) {
    ASSERT_NE(rule->Constants().formula, UpdateFormula::kNone) << rule->name();
    Arrays ours(*rule, kCount), theirs(*rule, kCount);
    UpdateOn<HostGrid> kernel(rule->Constants(), {});
    for (int64_t number = 1; number < 5; ++number) {
      Elements gradient = Drawn(DType::kF32, kCount, static_cast<unsigned>(number));
      const UpdateScalars scalars = {.step = StepNumber(number)};
      const SliceSettings settings = {.rate = 0.5, .decay = 2};
      kernel.Forward({.span = ours.Part(0, kCount, gradient.f32()),
                      .scalars = &scalars,
                      .settings = settings});
      rule->Update(theirs.Part(0, kCount, gradient.f32()), settings.Of(scalars.step));
    }
    ExpectSame(ours, theirs, rule->name());
    const UpdateScalars stopped = {.stop = 1};
    const std::vector<float> before = ours.arrays[0].Values();
    kernel.Forward({.span = ours.Part(0, kCount, before.data()), .scalars = &stopped});
    EXPECT_EQ(ours.arrays[0].Values(), before);
  }
}

TEST(CudaUpdates, OfPartsWithTheirSettings) {
  // Within, across and at the ends of the kernel's runs; frozen elements between them.
  const std::vector<UpdatePart> parts = {{0, 100, {2, 0}},
                                         {100, 130, {}},
                                         {300, 1500, {0.5, 1}},
                                         {1500, 2048, {}},
                                         {2049, 2600, {3, 3}}};
  for (const auto& rule : AllRules())
    for (const int64_t first : {0, 50, 1200}) {
      Arrays ours(*rule, kCount), theirs(*rule, kCount);
      Elements gradient = Drawn(DType::kF32, kCount, 3);
      const UpdateScalars scalars = {.step = StepNumber(2)};
      const int64_t count = kCount - first;
      UpdateOn<HostGrid>(rule->Constants(), {})
          .Forward({.span = ours.Part(first, count, gradient.f32() + first),
                    .scalars = &scalars,
                    .parts = parts.data(),
                    .part_count = std::ssize(parts),
                    .first = first});
      for (const UpdatePart& part : parts) {
        const int64_t begin = std::max(part.begin, first), end = std::min(part.end, kCount);
        if (begin < end)
          rule->Update(theirs.Part(begin, end - begin, gradient.f32() + begin),
                       part.settings.Of(scalars.step));
      }
      ExpectSame(ours, theirs, rule->name());
    }
}

TEST(CudaUpdates, OfTouchedRows) {
  constexpr int64_t kWidth = 100;
  const std::vector<int32_t> ids = {2, 3, 24};
  for (const auto& rule : AllRules()) {
    Arrays ours(*rule, kCount), theirs(*rule, kCount);
    std::vector<int32_t> steps(25, 4), expected(25, 4);
    Elements gradient = Drawn(DType::kF32, 3 * kWidth, 3);
    const UpdateScalars scalars = {.step = StepNumber(9)};
    UpdateCall call = {.span = ours.Part(0, kWidth, gradient.f32()),
                       .scalars = &scalars,
                       .rows = 3,
                       .ids = ids.data(),
                       .steps = steps.data()};
    UpdateOn<HostGrid> kernel(rule->Constants(), {});
    for (int repeat = 0; repeat < 2; ++repeat) {
      kernel.Forward(call);
      for (size_t r = 0; r < ids.size(); ++r) {
        UpdateStep step = scalars.step;
        step.step = ++expected[ids[r]];
        rule->Update(theirs.Part(ids[r] * kWidth, kWidth, gradient.f32() + r * kWidth), step);
      }
    }
    EXPECT_EQ(steps, expected);
    ExpectSame(ours, theirs, rule->name());
  }
}

TEST(CudaUpdates, StartsAndClips) {
  UpdateScalars scalars = {.squares = {.gradient = 100}};
  const UpdateStep step = {.learning_rate = 0.5, .step = 3, .gradient_scale = 0.5};
  UpdateStartOn<HostGrid> start({}, {});
  start.Forward({.scalars = &scalars, .step = step});
  EXPECT_EQ(scalars.step.gradient_scale, 0.5);
  start.Forward({.scalars = &scalars, .step = step, .clip_norm = 1});
  EXPECT_DOUBLE_EQ(scalars.step.gradient_scale, 0.1);
  start.Forward({.scalars = &scalars, .step = step, .clip_norm = 6});
  EXPECT_EQ(scalars.step.gradient_scale, 0.5);
  EXPECT_EQ(scalars.step.step, 3);
}

}  // namespace yoke::cuda_updates_test
