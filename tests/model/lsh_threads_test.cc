// lsh_linear's training step gives the same whatever the number of kernel threads: the same active
// ids, and scores and gradients that differ by rounding at most, between groups that are divided
// among threads and groups that are not. Otherwise they are equal.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <string>

#include "base/random.h"
#include "base/registry.h"
#include "base/support/near.h"
#include "kernels/support/threads.h"
#include "model/layer.h"

namespace yoke::lsh_threads_test {

constexpr int64_t kBatch = 64, kFeatures = 96, kLabels = 3000;
constexpr int kSteps = 4;  // with new tables and new hash functions at the third
constexpr float kTolerance = 1e-5F;

Batch Examples(bool sparse, uint64_t step) {
  Random random{step, 31};
  Batch batch;
  batch.size = kBatch, batch.seed = 3, batch.is_sparse = sparse;
  batch.examples.resize(kBatch);
  std::iota(batch.examples.begin(), batch.examples.end(), static_cast<int64_t>(100 + 64 * step));
  batch.sparse.width = kFeatures, batch.labels.width = kLabels;
  batch.sparse.Clear(), batch.labels.Clear();
  batch.ResizeDense({kFeatures});
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int32_t f = 0; f < kFeatures; ++f) {
      const auto value = static_cast<float>(random.Below(2) == 0 ? random.Normal() : 0.0);
      batch.dense.As<float>()[n * kFeatures + f] = value;
      if (value != 0) batch.sparse.ids.push_back(f), batch.sparse.values.push_back(value);
    }
    batch.sparse.offsets.push_back(static_cast<int64_t>(batch.sparse.ids.size()));
    for (int32_t k = 0; k < 3; ++k)
      batch.labels.ids.push_back(1000 * k + static_cast<int32_t>(random.Below(1000)));
    batch.labels.offsets.push_back(static_cast<int64_t>(batch.labels.ids.size()));
  }
  return batch;
}

/// What some training steps with unchanging weights give.
struct Outcome {
  std::vector<ActiveSet> sets;
  std::vector<RowGradient> weights, biases;
  std::vector<float> input_gradients;
};

/// The layer with weights, hash tables and a plan.
class Trainee {
 public:
  Trainee(int64_t group, bool sparse, DType arithmetic = DType::kF32, bool relu = false)
      : sparse_(sparse) {
    const LayerEntry& entry = FindEntry(layers(), "layer", "lsh_linear");
    const Table given = {{"outputs", kLabels}, {"group", group},   {"hard", 100},
                         {"random", 60},       {"tables", 10},     {"rehash", "fixed"},
                         {"rehash_every", 2},  {"redraw_every", 1}};
    const Edge input{.shape = {kFeatures}, .sparse = sparse};
    layer_ = entry.make(Options("layer", Value(given), entry.options),
                        {.name = "out", .input = input, .index = 1});
    if (relu) layer_->Fuse(Fusion::kRelu);
    state_ = layer_->MakeState();
    plan_ = layer_->Plan({.batch = kBatch,
                          .input = input,
                          .arithmetic = arithmetic,
                          .training = true,
                          .input_gradient = !sparse});
    Random random{17};
    for (const ParamSpec& spec : layer_->Params()) {
      values_.emplace_back(spec.shape.Count());
      for (float& w : values_.back()) w = static_cast<float>(random.Uniform(-0.1, 0.1));
      refs_.push_back({.value = {.shape = spec.shape, .data = values_.back().data()}});
    }
  }

  void Step(uint64_t step, Outcome& outcome) {
    const Batch batch = Examples(sparse_, step);
    std::vector<float> input_gradient(sparse_ ? 0 : kBatch * kFeatures);
    std::vector<RowGradient> rows(refs_.size());
    for (size_t p = 0; p < refs_.size(); ++p) refs_[p].rows = &rows[p];
    std::vector<char> saved(plan_->saved_bytes + 64), scratch(plan_->scratch_bytes + 64);
    ActiveSet set{.scores = true};
    LayerCall call{.batch = batch,
                   .input = batch.dense,
                   .input_gradient = {.shape = batch.dense.shape, .data = input_gradient.data()},
                   .params = refs_,
                   .saved = saved.data(),
                   .scratch = scratch.data(),
                   .active_output = &set,
                   .state = state_.get()};
    plan_->Forward(call);
    SetGradient(set);
    plan_->Backward(call);
    outcome.sets.push_back(std::move(set));
    outcome.weights.push_back(std::move(rows[0]));
    outcome.biases.push_back(std::move(rows[1]));
    outcome.input_gradients.insert(outcome.input_gradients.end(), input_gradient.begin(),
                                   input_gradient.end());
  }

  int64_t WorkingBytes() const { return dynamic_cast<const WorkingMemory&>(*plan_).WorkingBytes(); }

 private:
  /// What a loss could write: a number an example and id, 0 for padding.
  static void SetGradient(ActiveSet& set) {
    for (const ActiveGroup& group : set.groups)
      for (int64_t i = 0; i < group.examples * group.columns; ++i) {
        const int64_t column = i % group.columns;
        set.gradient[group.value + i] =
            column < group.active
                ? static_cast<float>(Random{uint64_t(group.value + i)}.Uniform(-0.1, 0.1))
                : 0.0F;
      }
  }

  bool sparse_;
  std::unique_ptr<Layer> layer_;
  std::unique_ptr<LayerState> state_;
  std::unique_ptr<LayerPlan> plan_;
  std::vector<std::vector<float>> values_;
  std::vector<ParamRef> refs_;
};

Outcome Train(Trainee trainee, int threads) {
  const Threads scope(threads);
  Outcome outcome;
  for (uint64_t step = 0; step < kSteps; ++step) trainee.Step(step, outcome);
  return outcome;
}
Outcome Train(int64_t group, bool sparse, int threads) {
  return Train(Trainee(group, sparse), threads);
}

/// Layout and ids are equal; scores nearly.
void ExpectSameSet(const ActiveSet& a, const ActiveSet& b, float tolerance) {
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.ids, b.ids);
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (size_t g = 0; g < a.groups.size(); ++g) {
    EXPECT_EQ(a.groups[g].labels, b.groups[g].labels) << "group " << g;
    EXPECT_EQ(a.groups[g].hard, b.groups[g].hard) << "group " << g;
  }
  test::ExpectNear(a.values, b.values, tolerance);
}

void ExpectSame(const Outcome& a, const Outcome& b, float tolerance = kTolerance) {
  for (size_t step = 0; step < kSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    ExpectSameSet(a.sets[step], b.sets[step], tolerance);
    EXPECT_EQ(a.weights[step].ids, b.weights[step].ids);
    EXPECT_EQ(a.biases[step].ids, b.biases[step].ids);
    test::ExpectNear(a.weights[step].values, b.weights[step].values, tolerance);
    test::ExpectNear(a.biases[step].values, b.biases[step].values, tolerance);
  }
  test::ExpectNear(a.input_gradients, b.input_gradients, tolerance);
}

/// The comparison would prove little if the tables found nothing.
void ExpectFound(const Outcome& outcome) {
  int64_t found = 0, wanted = 0;
  for (const ActiveSet& set : outcome.sets)
    for (const ActiveGroup& group : set.groups) found += group.hard - group.labels, wanted += 100;
  EXPECT_GT(found, wanted / 2);
}

class LshThreads : public ::testing::TestWithParam<int64_t> {};

TEST_P(LshThreads, GiveTheSameStep) {
  for (const bool sparse : {false, true}) {
    const Outcome alone = Train(GetParam(), sparse, 1);
    ExpectFound(alone);
    const int64_t groups = (kBatch + GetParam() - 1) / GetParam();
    EXPECT_EQ(std::ssize(alone.sets[0].groups), groups);
    const Outcome divided = Train(GetParam(), sparse, 16);
    ExpectSame(divided, alone);
    for (const int threads : {2, 3, 5}) {
      SCOPED_TRACE(std::to_string(threads) + (sparse ? " threads, sparse" : " threads, dense"));
      const Threads scope(threads);
      ExpectSame(Train(GetParam(), sparse, threads), WaitsFor(groups) ? divided : alone, 0);
    }
  }
}

// Small groups are computed by rows. With 2 groups and 1 there are fewer than threads.
INSTANTIATE_TEST_SUITE_P(Groups, LshThreads, ::testing::Values(1, 4, 8, 32, 64),
                         ::testing::PrintToStringParamName());

TEST(LshThreadsOfAPlan, DivideAGroupInBf16AndUnderARelu) {
  const auto trained = [](DType arithmetic, bool relu, int threads) {
    return Train(Trainee(kBatch, false, arithmetic, relu), threads);
  };
  ExpectSame(trained(DType::kF32, true, 5), trained(DType::kF32, true, 1));
  ExpectSame(trained(DType::kBf16, false, 5), trained(DType::kBf16, false, 1), 1e-2F);
}

/// Bytes a row: 1 for the random ids, 10 for those that are found.
TEST(LshThreadsOfAPlan, ForecastTheirSamplers) {
  const auto forecast = [](int64_t group, int threads) {
    const Threads scope(threads);
    return Trainee(group, false).WorkingBytes();
  };
  EXPECT_EQ(forecast(1, 4) - forecast(1, 1), 3 * 11 * kLabels);
  EXPECT_EQ(forecast(32, 4) - forecast(32, 1), 11 * kLabels) << "two groups";
}

/// One plan and its tables live through changes of the number of threads; with 2 groups its kernels
/// have the whole team or a thread alone by turns.
TEST(LshThreadsOfAPlan, MayChangeFromStepToStep) {
  constexpr std::array<int, kSteps> kThreads = {3, 1, 2, 3};
  for (const int64_t group : {4, 8, 32}) {
    SCOPED_TRACE("group " + std::to_string(group));
    Trainee trainee(group, false);
    Outcome outcome;
    for (uint64_t step = 0; step < kSteps; ++step) {
      const Threads scope(kThreads[step]);
      trainee.Step(step, outcome);
    }
    ExpectSame(outcome, Train(group, false, 1));
  }
}

}  // namespace yoke::lsh_threads_test
