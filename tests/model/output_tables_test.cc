// OutputTables and the Ranking that searches by them: against the exact Ranking; what is refused.
#include "model/output_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/random.h"
#include "kernels/threads.h"
#include "model/ranking.h"

namespace yoke::output_tables_test {

constexpr int64_t kInputs = 24, kOutputs = 5000;

struct Model {
  explicit Model(const std::string& type, const std::string& loss, int64_t outputs = kOutputs,
                 bool relu = false)
      : graph(Layers(type, loss, outputs, relu),
              {.input = {.shape = {kInputs}}, .outputs = outputs, .multi_label = true}),
        params(graph.layout(), Cpu()) {
    Initialize(params, 3);
  }
  static List Layers(const std::string& type, const std::string& loss, int64_t outputs, bool relu) {
    List layers = {Value(Table{{"type", type}, {"outputs", outputs}})};
    if (relu) layers.push_back(Value(Table{{"type", "relu"}}));
    layers.push_back(Value(Table{{"type", loss}}));
    return layers;
  }

  Graph graph;
  ParamStore params;
};

/// Drawn examples, none below 0, as behind a ReLU.
Batch Examples(int64_t size, uint64_t seed) {
  Batch batch;
  batch.size = size;
  batch.ResizeDense({kInputs});
  Random random{seed};
  for (int64_t i = 0; i < size * kInputs; ++i)
    batch.dense.As<float>()[i] = static_cast<float>(std::max(0.0, random.Normal()));
  for (int64_t i = 0; i < size; ++i) batch.examples.push_back(i);
  return batch;
}

struct Ranked {
  std::vector<int32_t> ids;
  std::vector<float> scores;
  std::vector<double> sums;
  std::vector<int64_t> scored;
  bool operator==(const Ranked&) const = default;
};

Ranked Rank(const Model& model, const Batch& batch, DType arithmetic, const OutputTables* tables) {
  Ranking ranking(model.graph,
                  {.batch = batch.size, .arithmetic = arithmetic, .top = 5, .tables = tables});
  Ranked ranked;
  for (int pass = 0; pass < 2; ++pass) {  // the second one finds what the first left behind
    ranking.Forward(batch, model.params.View());
    ranked = {};
    for (int64_t i = 0; i < batch.size; ++i) {
      ranked.ids.insert(ranked.ids.end(), ranking.Ids(i).begin(), ranking.Ids(i).end());
      ranked.scores.insert(ranked.scores.end(), ranking.Scores(i).begin(), ranking.Scores(i).end());
      ranked.sums.push_back(ranking.softmax() ? ranking.Sum(i) : 0);
      ranked.scored.push_back(ranking.Scored(i));
    }
  }
  return ranked;
}

TEST(OutputTables, AreExactWhereTheyFindAll) {
  for (const char* type : {"linear", "lsh_linear"})
    for (const char* loss : {"softmax_cross_entropy", "sigmoid_cross_entropy"}) {
      const Model model(type, loss);
      const OutputTables tables(model.graph, model.params.View(), Examples(100, 1),
                                {.hashes = 1, .tables = 32, .bucket = kOutputs});
      for (DType arithmetic : {DType::kF32, DType::kBf16})
        for (int64_t size : {1, 16, 37}) {
          const Batch batch = Examples(size, 2);
          const Ranked exact = Rank(model, batch, arithmetic, nullptr);
          const Ranked found = Rank(model, batch, arithmetic, &tables);
          EXPECT_EQ(found.ids, exact.ids) << type << ' ' << loss << ' ' << size;
          for (size_t k = 0; k < exact.scores.size(); ++k)
            EXPECT_NEAR(found.scores[k], exact.scores[k], 1e-5);
          for (size_t i = 0; i < exact.sums.size(); ++i) {
            EXPECT_LE(found.sums[i], exact.sums[i] + 1e-4);
            EXPECT_GE(found.sums[i], exact.sums[i] - 0.1);
          }
        }
    }
}

TEST(OutputTables, RefuseWideKeys) {
  const Model model("linear", "softmax_cross_entropy");
  try {
    const OutputTables tables(model.graph, model.params.View(), Examples(10, 1),
                              {.family = "wta", .hashes = 9});
    ADD_FAILURE() << "keys of 27 bits";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("27 bits: expected at most 24"), std::string::npos)
        << error.what();
  }
}

TEST(OutputTables, ScoreFewAndFindTheBestAmongRowsOfOneLength) {
  constexpr int64_t kMany = 20000, kQueries = 200;
  Model model("linear", "softmax_cross_entropy", kMany);
  const Batch all = Examples(kMany, 2);
  Batch batch = Examples(kQueries, 3);
  for (int64_t n = 0; n < kMany; ++n) {
    const float* x = all.dense.As<float>() + n * kInputs;
    float* row = model.params.values(0).Host().data() + n * kInputs;
    double square = 0;
    for (int64_t i = 0; i < kInputs; ++i) row[i] = x[i] - 0.4F, square += row[i] * row[i];
    for (int64_t i = 0; i < kInputs; ++i) row[i] *= static_cast<float>(3 / std::sqrt(square));
    for (int64_t i = 0; n < kQueries && i < kInputs; ++i) {  // a query near it
      float& query = batch.dense.As<float>()[n * kInputs + i];
      query = x[i] + 0.2F * query;
    }
  }
  const OutputTables tables(model.graph, model.params.View(), Examples(500, 1));
  const Ranked exact = Rank(model, batch, DType::kF32, nullptr);
  const Ranked found = Rank(model, batch, DType::kF32, &tables);
  int64_t same = 0, scored = 0;
  for (int64_t n = 0; n < kQueries; ++n) {
    same += found.ids[5 * n] == exact.ids[5 * n];
    scored += found.scored[n];
  }
  EXPECT_GE(same, kQueries * 95 / 100);
  EXPECT_LT(scored, kQueries * kMany / 8);
}

TEST(OutputTables, ThreadsDoNotMatter) {
  const Model model("linear", "softmax_cross_entropy");
  const Batch batch = Examples(50, 2);
  Ranked first;
  for (int threads : {1, 3}) {
    SetKernelThreads(threads);
    const OutputTables tables(model.graph, model.params.View(), Examples(100, 1));
    const Ranked ranked = Rank(model, batch, DType::kF32, &tables);
    if (threads == 1) first = ranked;
    EXPECT_EQ(ranked, first);
  }
  SetKernelThreads(1);
}

TEST(OutputTables, GiveEachOutputOnce) {
  const Model model("linear", "sigmoid_cross_entropy");
  const OutputTables tables(model.graph, model.params.View(), Examples(100, 1));
  const Batch batch = Examples(20, 4);
  std::vector<uint32_t> keys;
  tables.Keys(batch.dense.As<float>(), batch.size, keys);
  Marks marks;
  std::vector<int32_t> ids;
  for (int64_t n = 0; n < batch.size; ++n) {
    tables.Find(keys.data() + n * tables.search_settings().tables, marks, ids);
    EXPECT_EQ(std::set<int32_t>(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_GT(static_cast<int64_t>(ids.size()), tables.always());
    EXPECT_GE(*std::ranges::min_element(ids), 0);
    EXPECT_LT(*std::ranges::max_element(ids), kOutputs);
  }
}

TEST(OutputTables, ThePopularAreAlwaysFound) {
  Model model("linear", "sigmoid_cross_entropy");
  model.params.values(1).Host()[4321] = 10;
  const OutputTables tables(model.graph, model.params.View(), /*sample=*/{},
                            {.hashes = 12, .tables = 1, .bucket = 1});
  const Ranked ranked = Rank(model, Examples(9, 5), DType::kF32, &tables);
  for (int64_t n = 0; n < 9; ++n) EXPECT_EQ(ranked.ids[5 * n], 4321);
}

TEST(OutputTables, ScoresThatAreNoNumbersAreLeftOut) {
  Model model("linear", "softmax_cross_entropy");
  std::ranges::fill(model.params.values(1).Host(), NAN);
  const OutputTables tables(model.graph, model.params.View(), Examples(10, 1));
  const Ranked ranked = Rank(model, Examples(3, 5), DType::kF32, &tables);
  EXPECT_EQ(ranked.ids, std::vector<int32_t>(15, -1));
  for (const double sum : ranked.sums) EXPECT_TRUE(std::isnan(sum));
}

TEST(OutputTables, RefuseWhatTheyCannotSearch) {
  const Model narrow("linear", "softmax_cross_entropy", 4095);
  const Model other("linear", "softmax_cross_entropy", kOutputs, /*relu=*/true);
  for (const Model* model : {&narrow, &other}) try {
      const OutputTables tables(model->graph, model->params.View(), Examples(10, 1));
      ADD_FAILURE();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("at least 4096 outputs"), std::string::npos);
    }
}

}  // namespace yoke::output_tables_test
