// Graphs whose rows are stored in bf16: as those in f32 that hold the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/support/near.h"
#include "model/output_tables.h"
#include "model/ranking.h"

namespace yoke::bf16_rows_test {

constexpr int64_t kFeatures = 300, kHidden = 17, kOutputs = 5000, kBatch = 8;

List Layers(int64_t group) {
  return {Value(Table{{"type", "sparse_linear"}, {"outputs", kHidden}}),
          Value(Table{{"type", "relu"}}),
          Value(Table{{"type", "lsh_linear"}, {"outputs", kOutputs}, {"group", group}}),
          Value(Table{{"type", "softmax_cross_entropy"}})};
}

struct Model {
  Model(DType rows, int64_t group)
      : graph(Layers(group),
              {.input = {.shape = {kFeatures}, .sparse = true},
               .outputs = kOutputs,
               .multi_label = true},
              rows),
        params(graph.layout(), Cpu()),
        gradients(graph.layout(), Cpu()),
        states(graph.MakeStates()) {
    Initialize(params, 3);
  }
  ParamView View() {
    ParamView view = params.View(&gradients);
    view.states = &states;
    return view;
  }
  Graph graph;
  ParamStore params;
  Gradients gradients;
  LayerStates states;
};

Batch Examples() {
  Batch batch;
  batch.size = kBatch;
  batch.is_sparse = true;
  batch.sparse.Clear(), batch.labels.Clear();
  batch.sparse.width = kFeatures;
  batch.labels.width = kOutputs;
  Random random{7};
  for (int64_t n = 0; n < kBatch; ++n) {
    batch.examples.push_back(n);
    for (int64_t id = n; id < kFeatures; id += 1 + static_cast<int64_t>(random.Below(40)))
      batch.sparse.ids.push_back(static_cast<int32_t>(id)), batch.sparse.values.push_back(1);
    batch.sparse.offsets.push_back(std::ssize(batch.sparse.ids));
    batch.labels.ids.push_back(static_cast<int32_t>(random.Below(kOutputs)));
    batch.labels.offsets.push_back(n + 1);
  }
  return batch;
}

/// A model in bf16, and one in f32 with its numbers.
struct Pair {
  explicit Pair(int64_t group = 4) : narrow(DType::kBf16, group), wide(DType::kF32, group) {
    for (size_t i = 0; i < narrow.graph.layout().slices().size(); ++i) {
      const Slice& slice = narrow.graph.layout().slices()[i];
      if (slice.type != DType::kBf16) continue;
      const auto* from =
          reinterpret_cast<const Bf16*>(narrow.params.values(static_cast<int>(i)).Host().data());
      const auto to = wide.params.values(static_cast<int>(i)).Host();
      for (size_t k = 0; k < to.size(); ++k) {
        EXPECT_EQ(from[k].bits, Bf16(to[k]).bits);  // drawn as f32, rounded to the nearest
        to[k] = static_cast<float>(from[k]);
        ++rounded;
      }
    }
  }
  Model narrow, wide;
  int64_t rounded = 0;
};

TEST(Bf16Rows, HaveTheSameGradients) {
  const Batch batch = Examples();
  for (const int64_t group : {1, 4}) {
    Pair pair(group);
    EXPECT_EQ(pair.rounded, (kFeatures + kOutputs) * kHidden);
    for (Model* model : {&pair.narrow, &pair.wide}) {
      const auto plan = model->graph.Compile({.batch = kBatch, .training = true});
      plan->PrepareAndForward(batch, model->View());
      plan->Backward(batch, model->View(), {});
    }
    for (size_t i = 0; i < pair.wide.graph.layout().slices().size(); ++i) {
      const RowGradient& a = pair.narrow.gradients.rows(static_cast<int>(i));
      const RowGradient& b = pair.wide.gradients.rows(static_cast<int>(i));
      EXPECT_EQ(a.ids, b.ids);
      EXPECT_EQ(a.values, b.values);
    }
  }
}

TEST(Bf16Rows, HaveTheSameScores) {
  Pair pair;
  const Batch batch = Examples();
  for (const bool reference : {false, true}) {
    const RankingRequest request = {
        .batch = kBatch, .target = {.reference = reference}, .top = 5, .losses = true};
    Ranking narrow(pair.narrow.graph, request), wide(pair.wide.graph, request);
    narrow.Forward(batch, pair.narrow.params.View());
    wide.Forward(batch, pair.wide.params.View());
    for (int64_t n = 0; n < kBatch; ++n) {
      EXPECT_TRUE(std::ranges::equal(narrow.Ids(n), wide.Ids(n)));
      EXPECT_TRUE(std::ranges::equal(narrow.Scores(n), wide.Scores(n)));
      EXPECT_EQ(narrow.Loss(n), wide.Loss(n));
    }
  }
}

TEST(Bf16Rows, AreFoundByTheSameTables) {
  Pair pair;
  const Batch batch = Examples();
  std::vector<std::vector<int32_t>> found;
  for (Model* model : {&pair.narrow, &pair.wide}) {
    const ParamView view = model->params.View();
    const OutputTables tables(model->graph, view, batch);
    Ranking ranking(model->graph, {.batch = kBatch, .top = 5, .tables = &tables});
    ranking.Forward(batch, view);
    std::vector<int32_t>& ids = found.emplace_back();
    for (int64_t n = 0; n < kBatch; ++n)
      ids.insert(ids.end(), ranking.Ids(n).begin(), ranking.Ids(n).end());
  }
  EXPECT_EQ(found[0], found[1]);
}

/// Below 4,096 outputs all scores are kept.
TEST(Bf16Rows, HaveTheSameExactOutputs) {
  Pair pair;
  const Batch batch = Examples();
  std::vector<std::vector<float>> scores;
  for (Model* model : {&pair.narrow, &pair.wide}) {
    const auto plan = model->graph.Compile({.batch = kBatch});
    plan->PrepareAndForward(batch, model->params.View());
    const float* from = plan->Scores().As<float>();
    scores.emplace_back(from, from + kBatch * kOutputs);
  }
  // With many threads products add in another order.
  test::ExpectNear(scores[0], scores[1], 1e-6);
}

}  // namespace yoke::bf16_rows_test
