// Apply: row-sparse slices against dense ones, their clocks, and clipping.
#include "optim/rule.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <future>

#include "base/random.h"
#include "base/registry.h"
#include "kernels/recorder.h"
#include "kernels/vectors.h"
#include "optim/layerwise.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::apply_test {

constexpr int64_t kRows = 6, kWidth = 5;

ParamLayout LayoutOf(SliceKind kind) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {kRows, kWidth}, .kind = kind});
  layout.Add({.name = "a.bias", .shape = {3}});
  layout.Pack();
  return layout;
}

std::unique_ptr<UpdateRule> Make(const std::string& name) {
  const RuleEntry& entry = FindEntry(rules(), "rule", name);
  return entry.make(Options("train", Table{}, entry.options));
}

/// A model of one slice of rows and one dense slice under one rule.
struct Model {
  Model(SliceKind kind, const UpdateRule& r)
      : rule(r),
        params(LayoutOf(kind), Cpu()),
        gradients(params.layout(), Cpu()),
        state(params.layout(), rule, Cpu()) {
    for (int64_t i = 0; i < kRows * kWidth; ++i) params.values(0).Host()[i] = Start(i);
  }
  static float Start(int64_t i) { return static_cast<float>(i % 7) - 3; }
  void Touch(const std::vector<int32_t>& ids, uint64_t draw) {
    const Slice& slice = params.layout().slices()[0];
    gradients.rows(0).Clear();
    for (int32_t id : ids) {
      Random random{draw, static_cast<uint64_t>(id)};
      gradients.rows(0).ids.push_back(id);
      for (int64_t j = 0; j < kWidth; ++j) {
        const float g = static_cast<float>(random.Uniform(-1, 1));
        if (slice.kind == SliceKind::kDense)
          gradients.dense().Host()[slice.offset + id * kWidth + j] = g;
        gradients.rows(0).values.push_back(g);
      }
    }
    if (slice.kind == SliceKind::kDense) gradients.rows(0).Clear();
  }
  void Step(double clip_norm = 0) {
    Apply(params, {.rule = rule,
                   .state = state,
                   .gradients = gradients,
                   .learning_rate = 0.1,
                   .clip_norm = clip_norm});
  }
  float At(int64_t row, int64_t column) const {
    return params.values(0).Host()[row * kWidth + column];
  }

  const UpdateRule& rule;
  ParamStore params;
  Gradients gradients;
  RuleState state;
};

TEST(Apply, RowSparseEqualsDenseWhenEveryRowIsTouched) {
  for (const RuleEntry& entry : rules()) {
    const auto rule = Make(entry.name);
    if (rule->Scalars() > 0) continue;  // it sees the state of dense slices alone (UpdateFacts)
    if (dynamic_cast<const LayerwiseRule*>(rule.get())) continue;  // rows are no layers
    Model dense(SliceKind::kDense, *rule), sparse(SliceKind::kRowSparse, *rule);
    for (uint64_t step = 1; step <= 4; ++step) {
      for (Model* model : {&dense, &sparse}) model->Touch({0, 1, 2, 3, 4, 5}, step), model->Step();
    }
    for (int64_t i = 0; i < kRows * kWidth; ++i)
      EXPECT_NEAR(dense.params.values(0).Host()[i], sparse.params.values(0).Host()[i], 1e-6)
          << entry.name;
  }
}

TEST(Apply, AnUntouchedRowNeitherDecaysNorAges) {
  for (const RuleEntry& entry : rules()) {
    const auto rule = Make(entry.name);
    if (rule->Scalars() > 0) continue;  // what others' updates have told sets the step of each
    Model often(SliceKind::kRowSparse, *rule), rarely(SliceKind::kRowSparse, *rule);
    often.Touch({2}, 1), often.Step(), often.Touch({2}, 2), often.Step();
    rarely.Touch({2}, 1), rarely.Step();
    rarely.Touch({0, 5}, 9), rarely.Step(), rarely.Step();
    rarely.Touch({2}, 2), rarely.Step();
    for (int64_t j = 0; j < kWidth; ++j) {
      EXPECT_EQ(often.At(2, j), rarely.At(2, j)) << entry.name;
      EXPECT_EQ(rarely.At(3, j), Model::Start(3 * kWidth + j)) << entry.name;
      EXPECT_NE(rarely.At(0, j), Model::Start(j)) << entry.name;
    }
    EXPECT_EQ(ValuesOf(rarely.state.row_steps(0)), (std::vector<int32_t>{2, 0, 2, 0, 0, 2}));
    EXPECT_EQ(rarely.state.steps, 4);
  }
}

TEST(Apply, ClipsTheNormOfAllGradientsTogether) {
  const auto rule = Make("sgd");
  Model model(SliceKind::kRowSparse, *rule);
  model.gradients.rows(0) = {{1}, {3, 0, 0, 0, 0}};
  model.gradients.dense().Host()[model.params.layout().slices()[1].offset] = 4;
  EXPECT_DOUBLE_EQ(GradientNorm(model.params.layout(), model.gradients), 5);
  model.Step(2.5);
  EXPECT_FLOAT_EQ(model.At(1, 0), Model::Start(kWidth) - 0.1F * 1.5F);
  EXPECT_FLOAT_EQ(model.params.values(1).Host()[0], -0.1F * 2);
  model.params.values(1).Host()[0] = 0;
  model.Step(5.5);  // below the bound: as it is
  EXPECT_FLOAT_EQ(model.params.values(1).Host()[0], -0.1F * 4);
}

TEST(Apply, UpdatesEveryNumberOfLargeSlicesOnceOnAnyNumberOfThreads) {
  ParamLayout layout;
  for (int64_t count : {20'011, 1, 37})
    layout.Add({.name = std::to_string(count), .shape = {count}});
  layout.Pack();
  const auto rule = Make("sgd");
  const int before = omp_get_max_threads();
  for (int threads : {1, 2, 3, 7}) {
    omp_set_num_threads(threads);
    ParamStore params(layout, Cpu());
    Gradients gradients(layout, Cpu());
    RuleState state(layout, *rule, Cpu());
    for (int64_t i = 0; i < layout.dense_size(); ++i)
      gradients.dense().Host()[i] = static_cast<float>(i);
    Apply(params, {.rule = *rule, .state = state, .gradients = gradients, .learning_rate = 2});
    for (const Slice& slice : layout.slices())
      for (int64_t i = slice.offset; i < slice.offset + slice.Count(); ++i)
        ASSERT_EQ(params.values().Host()[i], -2.0F * static_cast<float>(i))
            << threads << " threads";
  }
  omp_set_num_threads(before);
}

/// Clipped or not, the host neither waits nor reads; a rule that tunes itself does (UpdateFacts).
TEST(ApplyOnADevice, IsEnqueuedAndLeavesTheValuesAloneAfterAStop) {
  const auto device = NewEmulatedDevice(0, {});
  const auto rule = Make("momentum");
  ParamStore params(LayoutOf(SliceKind::kDense), *device);
  Gradients gradients(params.layout(), *device);
  RuleState state(params.layout(), *rule, *device);
  Fill(gradients.dense(), 1);
  const auto step = [&](double clip_norm) {
    Apply(params, {.rule = *rule,
                   .state = state,
                   .gradients = gradients,
                   .learning_rate = 0.1,
                   .clip_norm = clip_norm});
  };
  std::promise<void> go;
  device->stream().work_queue()->Enqueue([&go] { go.get_future().wait(); });
  for (const double clip_norm : {0.0, 0.5}) step(clip_norm);
  go.set_value();
  const std::vector<float> after = ValuesOf(params.values()), velocity = ValuesOf(state.array(0));
  EXPECT_LT(after[0], -0.1F);
  const Array<double> stop = {device.get(), &state.on_device()->stop, 1};
  std::vector<double> one = {1};
  Copy(stop, OnHost(std::span(one)));
  step(0);
  EXPECT_EQ(ValuesOf(params.values()), after);
  EXPECT_EQ(ValuesOf(state.array(0)), velocity);
}

TEST(ApplyOnADevice, ATunerLearnsNothingAfterAStop) {
  const auto device = NewEmulatedDevice(0, {});
  const auto rule = Make("yellowfin");
  ParamStore params(LayoutOf(SliceKind::kDense), *device);
  Gradients gradients(params.layout(), *device);
  RuleState state(params.layout(), *rule, *device);
  Fill(gradients.dense(), 1);
  const auto scalars_after_a_step = [&] {
    Apply(params, {.rule = *rule, .state = state, .gradients = gradients, .learning_rate = 0.1});
    return std::vector<float>(state.scalars().begin(), state.scalars().end());
  };
  scalars_after_a_step();
  const std::vector<float> before = scalars_after_a_step();
  EXPECT_NE(scalars_after_a_step(), before);
  const std::vector<float> last = scalars_after_a_step(), values = ValuesOf(params.values());
  std::vector<double> one = {1};
  Copy(Array<double>{device.get(), &state.on_device()->stop, 1}, OnHost(std::span(one)));
  EXPECT_EQ(scalars_after_a_step(), last);
  EXPECT_EQ(ValuesOf(params.values()), values);
}

/// Calls of the rule's kernel in an update of four parameters with running statistics between.
int64_t Launches(const std::vector<SliceSettings>& settings) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {20, 3}});
  layout.Add({.name = "a.mean", .shape = {3}, .kind = SliceKind::kBuffer});
  for (const char* name : {"a.bias", "b.weight", "b.bias"})
    layout.Add({.name = name, .shape = {7}});
  layout.Pack();
  const auto device = NewEmulatedDevice(0, {});
  Recorder recorder(device->stream());
  const auto rule = Make("momentum");
  ParamStore params(layout, *device);
  Gradients gradients(layout, *device);
  RuleState state(layout, *rule, *device, {}, &recorder);
  if (!settings.empty()) state.SetSlices(layout, settings);
  Apply(params, {.rule = *rule, .state = state, .gradients = gradients, .learning_rate = 0.1});
  int64_t calls = 0;
  for (const RecordedCalls& each : recorder.Take())
    if (each.operation == rule->name()) calls += each.calls;
  return calls;
}

TEST(ApplyOnADevice, UpdatesAllAtOnce) {
  EXPECT_EQ(Launches({}), 1);
  const SliceSettings usual, slow = {.rate = 0.5}, frozen = {.rate = 0};
  EXPECT_EQ(Launches({usual, usual, usual, usual, usual}), 1);
  EXPECT_EQ(Launches({usual, usual, slow, slow, usual}), 1);
  EXPECT_EQ(Launches({usual, usual, frozen, usual, usual}), 1);
  EXPECT_EQ(Launches({frozen, usual, frozen, frozen, frozen}), 0);
}

TEST(Apply, PublishesAVersion) {
  const auto rule = Make("sgd");
  Model model(SliceKind::kDense, *rule);
  const uint64_t before = model.params.version();
  model.Step();
  EXPECT_EQ(model.params.version(), before + 1);
}

TEST(GradientNorm, IsTheSameForAnyNumberOfThreads) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {1000, 1000}});
  layout.Pack();
  Gradients gradients(layout, Cpu());
  Random random{1};
  for (int64_t i = 0; i < layout.dense_size(); ++i)
    gradients.dense().Host()[i] = static_cast<float>(random.Normal());
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const double one = GradientNorm(layout, gradients);
  omp_set_num_threads(3);
  EXPECT_EQ(GradientNorm(layout, gradients), one);
  omp_set_num_threads(threads);
  EXPECT_NEAR(one, 1000, 2);
}

TEST(GradientNorm, IsTheSameOnADevice) {
  ParamLayout layout;
  for (int64_t count : {50'011, 1, 37})
    layout.Add({.name = std::to_string(count), .shape = {count}});
  layout.Pack();
  const auto device = NewEmulatedDevice(0, {});
  Gradients here(layout, Cpu()), there(layout, *device);
  Random random{1};
  for (float& g : here.dense().Host()) g = static_cast<float>(random.Normal());
  Copy(there.dense(), here.dense());
  for (const SliceRange slices : {SliceRange(), {0, 1}, {1, 3}, {3, 3}})
    EXPECT_EQ(GradientNorm(layout, there, slices), GradientNorm(layout, here, slices))
        << slices.begin;
}

}  // namespace yoke::apply_test
