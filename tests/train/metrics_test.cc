// Metrics: against counting by hand; the same for any number of threads.
#include "train/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "base/thread.h"
#include "data/memory_reader.h"
#include "kernels/vectors.h"
#include "model/output_tables.h"
#include "tensor/emulated.h"
#include "train/job/parts.h"

namespace yoke::metrics_test {

double CurveByPairs(const std::vector<std::pair<float, bool>>& scored) {
  double wins = 0;
  double pairs = 0;
  for (const auto& [a, positive] : scored)
    for (const auto& [b, other] : scored)
      if (positive && !other) wins += a > b ? 1 : a == b ? 0.5 : 0, ++pairs;
  return wins / pairs;
}

TEST(AreaUnderCurveTest, EqualsCountingPairs) {
  Random random{3};
  std::vector<std::pair<float, bool>> scored;
  scored.reserve(300);
  for (int i = 0; i < 300; ++i)
    scored.emplace_back(static_cast<float>(random.Below(20)), random.Below(3) == 0);
  EXPECT_NEAR(AreaUnderCurve(scored), CurveByPairs(scored), 1e-12);
}

TEST(AreaUnderCurveTest, Extremes) {
  EXPECT_EQ(AreaUnderCurve({{0.F, false}, {1.F, true}}), 1);
  EXPECT_EQ(AreaUnderCurve({{1.F, false}, {0.F, true}}), 0);
  EXPECT_EQ(AreaUnderCurve({{1.F, false}, {1.F, true}}), 0.5);
  EXPECT_TRUE(std::isnan(AreaUnderCurve({{1.F, true}})));
  EXPECT_TRUE(std::isnan(AreaUnderCurve({})));
}

TEST(TopScoresTest, EqualsSorting) {
  Random random{5};
  for (int n : {0, 1, 4, 5, 6, 100}) {
    std::vector<float> scores;
    scores.reserve(n);
    for (int i = 0; i < n; ++i) scores.push_back(static_cast<float>(random.Below(10)));
    std::vector<int32_t> order(scores.size());
    for (int i = 0; i < n; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return scores[a] > scores[b]; });
    order.resize(std::min<size_t>(5, order.size()));
    EXPECT_EQ(TopScores(scores, 5), order) << n;
  }
  EXPECT_EQ(TopScores(std::vector<float>{1, NAN, 2}, 5), (std::vector<int32_t>{2, 0}));
}

TEST(MetricOfTest, UnknownNamesListTheKnown) {
  const Metrics metrics = {{"loss", 1.0}, {"accuracy", 0.5}};
  EXPECT_EQ(MetricOf(metrics, "accuracy"), 0.5);
  EXPECT_THROW(MetricOf(metrics, "auc"), UserError);
  EXPECT_TRUE(MoreIsBetter("auc"));
  EXPECT_FALSE(MoreIsBetter("loss"));
}

/// Examples whose features are drawn, with a class or a set of labels each; what a linear model
/// scores is easily computed.
class Drawn : public Reader {
 public:
  explicit Drawn(bool multi_label, int64_t outputs = 0) {
    if (outputs == 0) outputs = multi_label ? 7 : 2;
    info_ = {.input = {kFeatures}, .multi_label = multi_label, .outputs = outputs};
  }
  const DataInfo& Info() const override { return info_; }
  int64_t Size() const override { return 2500; }
  void Read(const ReadRequest& request, Batch& batch) const override {
    batch.size = static_cast<int64_t>(request.examples.size());
    batch.examples.assign(request.examples.begin(), request.examples.end());
    batch.ResizeDense(info_.input);
    batch.classes.clear();
    batch.labels.Clear();
    batch.labels.width = info_.outputs;
    if (!info_.multi_label) batch.labels.offsets.clear();
    for (int64_t i = 0; i < batch.size; ++i) {
      const std::vector<float> x = Features(batch.examples[i]);
      std::copy(x.begin(), x.end(), batch.dense.As<float>() + i * kFeatures);
      if (!info_.multi_label) batch.classes.push_back(static_cast<int32_t>(batch.examples[i] % 2));
      if (!info_.multi_label) continue;
      for (int32_t label : Labels(batch.examples[i])) batch.labels.ids.push_back(label);
      batch.labels.offsets.push_back(static_cast<int64_t>(batch.labels.ids.size()));
    }
  }

  static constexpr int kFeatures = 6;
  static std::vector<float> Features(int64_t example) {
    Random random{11, static_cast<uint64_t>(example)};
    std::vector<float> x;
    x.reserve(kFeatures);
    for (int j = 0; j < kFeatures; ++j) x.push_back(static_cast<float>(random.Normal()));
    return x;
  }
  static std::vector<int32_t> Labels(int64_t example) {
    if (example % 5 == 0) return {};
    return {static_cast<int32_t>(example % 3), static_cast<int32_t>(3 + example % 4)};
  }

 private:
  DataInfo info_;
};

/// A linear model with drawn weights over drawn data.
struct Case {
  explicit Case(bool multi_label, int64_t outputs = 0, const char* loss = "")
      : reader(multi_label, outputs),
        graph(Layers(reader.Info(), loss), TaskOf(reader.Info())),
        params(graph.layout(), Cpu()) {
    Initialize(params, 2);
  }
  static List Layers(const DataInfo& info, const std::string& loss) {
    List layers = {Value(Table{{"type", "linear"}, {"outputs", info.outputs}})};
    if (!loss.empty()) layers.push_back(Value(Table{{"type", loss}}));
    return layers;
  }
  Metrics Measure(int threads, bool reference = true, DType arithmetic = DType::kF32,
                  const ParamStore* there = nullptr) const {
    const ParamView view = (there ? there : &params)->View();
    return Evaluate(reader, {.graph = graph,
                             .params = view,
                             .arithmetic = arithmetic,
                             .reference_kernels = reference,
                             .threads = threads});
  }
  std::vector<double> Scores(int64_t example) const {
    const std::vector<float> x = Drawn::Features(example);
    std::vector<double> scores;
    for (int64_t o = 0; o < reader.Info().outputs; ++o) {
      double score = 0;
      for (size_t s = 0; s < graph.layout().slices().size(); ++s) {
        const float* values = params.values(static_cast<int>(s)).Host().data();
        if (graph.layout().slices()[s].shape.rank() == 1)
          score += values[o];
        else
          for (int j = 0; j < Drawn::kFeatures; ++j)
            score += static_cast<double>(x[j]) * values[o * Drawn::kFeatures + j];
      }
      scores.push_back(score);
    }
    return scores;
  }

  Drawn reader;
  Graph graph;
  ParamStore params;
};

/// Expects of the threads that evaluate that they flush denormals.
class Watched : public Drawn {
 public:
  using Drawn::Drawn;
  void Read(const ReadRequest& request, Batch& batch) const override {
    EXPECT_TRUE(FlushesDenormals());
    Drawn::Read(request, batch);
  }
};

TEST(EvaluateTest, FlushesDenormalsAndGivesTheThreadBack) {
  const Case c(false);
  ASSERT_FALSE(FlushesDenormals());
  const ParamView view = c.params.View();
  Evaluate(Watched(false), {.graph = c.graph, .params = view, .threads = 2});
  EXPECT_FALSE(FlushesDenormals());
}

/// The host's memory as a device's staging memory is; counts what is taken.
class Staging : public Device {
 public:
  const std::string& name() const override { return Cpu().name(); }
  void* Allocate(int64_t bytes) override {
    ++taken;
    return Cpu().Allocate(bytes);
  }
  void Free(void* memory, int64_t bytes) override { Cpu().Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override { return Cpu().NewStream(); }
  bool IsHost() const override { return true; }

  int taken = 0;
};

/// As easgd_sync1's centre does.
TEST(EvaluateTest, ValuesInStagingMemoryTakeNoMoreOfIt) {
  Staging staging;
  const Case c(false);
  ParamStore there(c.graph.layout(), staging);
  Copy(there.values(), c.params.values());
  const int before = staging.taken;
  for (const DType arithmetic : {DType::kF32, DType::kBf16})
    EXPECT_EQ(c.Measure(2, true, arithmetic, &there), c.Measure(2, true, arithmetic));
  EXPECT_EQ(staging.taken, before);
}

TEST(EvaluateTest, TwoClasses) {
  const Case c(false);
  double correct = 0;
  double loss = 0;
  std::vector<std::pair<float, bool>> scored;
  for (int64_t i = 0; i < c.reader.Size(); ++i) {
    const std::vector<double> s = c.Scores(i);
    const bool positive = i % 2 == 1;
    correct += (s[1] > s[0]) == positive;
    loss += std::log1p(std::exp(positive ? s[0] - s[1] : s[1] - s[0]));
    scored.emplace_back(static_cast<float>(s[1] - s[0]), positive);
  }
  const auto n = static_cast<double>(c.reader.Size());
  const Metrics metrics = c.Measure(1);
  EXPECT_NEAR(MetricOf(metrics, "accuracy"), correct / n, 1e-9);
  EXPECT_NEAR(MetricOf(metrics, "loss"), loss / n, 1e-5);
  EXPECT_NEAR(MetricOf(metrics, "auc"), CurveByPairs(scored), 1e-4);
}

TEST(EvaluateTest, TargetsInTheirOwnUnit) {
  constexpr int64_t kExamples = 50;
  MemoryData data;
  data.size = kExamples;
  for (int64_t i = 0; i < kExamples; ++i) {
    data.floats.push_back(static_cast<float>(i % 7));
    data.targets.push_back(100 + 20 * static_cast<double>(i % 5));
  }
  std::vector<int64_t> all(kExamples);
  std::iota(all.begin(), all.end(), 0);
  MemoryReader reader({.input = {1}, .regression = true, .outputs = 1}, std::move(data));
  reader.MeasureTargets(all);
  const Graph graph(Case::Layers(reader.Info(), ""), TaskOf(reader.Info()));
  ParamStore params(graph.layout(), Cpu());
  Fill(params.values(0), 0.5F);
  Fill(params.values(1), 0);
  const ParamView view = params.View();
  double squares = 0, errors = 0, around = 0;
  for (int64_t i = 0; i < kExamples; ++i) {
    const double target = 100 + 20 * static_cast<double>(i % 5);
    const double found = 140 + reader.Info().target_deviation[0] * 0.5 * static_cast<double>(i % 7);
    squares += (found - target) * (found - target);
    errors += std::abs(found - target);
    around += (target - 140) * (target - 140);
  }
  const Metrics metrics = Evaluate(reader, {.graph = graph, .params = view, .threads = 2});
  EXPECT_NEAR(MetricOf(metrics, "rmse"), std::sqrt(squares / kExamples), 1e-4);
  EXPECT_NEAR(MetricOf(metrics, "mae"), errors / kExamples, 1e-4);
  EXPECT_NEAR(MetricOf(metrics, "r2"), 1 - squares / around, 1e-6);
  EXPECT_NEAR(MetricOf(metrics, "loss"), squares / around, 1e-6);
  EXPECT_FALSE(MoreIsBetter("rmse"));
  EXPECT_TRUE(MoreIsBetter("r2"));
}

TEST(EvaluateTest, CountsWhatClassesAreTakenFor) {
  const Case c(false);
  Confusion confusion(2);
  const ParamView view = c.params.View();
  const Metrics metrics =
      Evaluate(c.reader, {.graph = c.graph, .params = view, .threads = 2, .confusion = &confusion});
  const auto right = static_cast<double>(confusion.At(0, 0) + confusion.At(1, 1));
  EXPECT_EQ(confusion.Of(0) + confusion.Of(1), c.reader.Size());
  EXPECT_NEAR(MetricOf(metrics, "accuracy"), right / static_cast<double>(c.reader.Size()), 1e-12);
}

TEST(EvaluateTest, LabelSets) {
  const Case c(true);
  double at_3 = 0;
  for (int64_t i = 0; i < c.reader.Size(); ++i) {
    const std::vector<double> s = c.Scores(i);
    std::vector<int32_t> order = {0, 1, 2, 3, 4, 5, 6};
    std::sort(order.begin(), order.end(), [&](int a, int b) { return s[a] > s[b]; });
    for (int32_t label : Drawn::Labels(i))
      at_3 += std::find(order.begin(), order.begin() + 3, label) < order.begin() + 3;
  }
  const Metrics metrics = c.Measure(2);
  EXPECT_NEAR(MetricOf(metrics, "p_at_3"), at_3 / 3 / static_cast<double>(c.reader.Size()), 1e-9);
  EXPECT_EQ(metrics.size(), 4U);
}

/// Of a mean over n of N examples: with the sample's deviation s, s sqrt((1 - n / N) / n).
TEST(EvaluateTest, ASampleHasStandardErrors) {
  for (const int64_t outputs : {2, 4099}) {  // whose scores are kept or ranked
    Case c(false, outputs);
    const auto n = static_cast<double>(c.reader.Size());
    double loss = 0, squares = 0, correct = 0;
    for (int64_t i = 0; i < c.reader.Size(); ++i) {
      const std::vector<double> s = c.Scores(i);
      double sum = 0;
      for (const double score : s) sum += std::exp(score);
      const double own = std::log(sum) - s[i % 2];
      loss += own;
      squares += own * own;
      correct += std::ranges::max_element(s) - s.begin() == i % 2;
    }
    const ParamView view = c.params.View();
    const Metrics found =
        Evaluate(c.reader, {.graph = c.graph, .params = view, .sample_of = 4 * c.reader.Size()});
    const double variance = (squares - loss * loss / n) / (n - 1), p = correct / n;
    const double error = std::sqrt(variance / n * 0.75);
    EXPECT_NEAR(MetricOf(found, "loss_error"), error, 1e-3 * error);
    EXPECT_NEAR(MetricOf(found, "accuracy_error"), std::sqrt(p * (1 - p) / (n - 1) * 0.75), 1e-9);
    EXPECT_EQ(found.size(), outputs == 2 ? 5U : 4U);  // auc has none
  }
}

TEST(EvaluateTest, ThreadsDoNotMatter) {
  for (bool multi_label : {false, true}) {
    const Case c(multi_label);
    EXPECT_EQ(c.Measure(1), c.Measure(2));
    EXPECT_EQ(c.Measure(1), c.Measure(5));
  }
}

TEST(EvaluateTest, OnADeviceGivesTheSameBits) {
  const auto device = NewEmulatedDevice(0, {});
  for (const bool multi_label : {false, true})
    for (const int64_t outputs : {0, 4099})  // kept there, or ranked on the CPU
      for (const DType arithmetic : {DType::kF32, DType::kBf16}) {
        const Case c(multi_label, outputs);
        ParamStore there(c.graph.layout(), *device);
        Copy(there.values(), c.params.values());
        EXPECT_EQ(c.Measure(3, false, arithmetic, &there), c.Measure(3, false, arithmetic));
      }
}

/// What Evaluate gives where scores are kept.
Metrics FromAllScores(const Case& c, DType arithmetic) {
  const int64_t size = c.reader.Size(), outputs = c.reader.Info().outputs;
  std::vector<int64_t> examples(size);
  std::iota(examples.begin(), examples.end(), int64_t{0});
  Batch batch;
  c.reader.Read({.examples = examples}, batch);
  const auto plan = c.graph.Compile({.batch = size, .arithmetic = arithmetic});
  plan->PrepareAndForward(batch, c.params.View());
  double first = 0, third = 0;
  for (int64_t i = 0; i < size; ++i) {
    const float* scores = plan->Scores().As<float>() + i * outputs;
    const auto top = TopScores({scores, static_cast<size_t>(outputs)}, 3);
    const std::vector<int32_t> labels = c.reader.Info().multi_label
                                            ? Drawn::Labels(i)
                                            : std::vector<int32_t>{static_cast<int32_t>(i % 2)};
    for (int32_t label : labels) {
      first += label == top[0];
      third += std::find(top.begin(), top.end(), label) != top.end();
    }
  }
  const auto n = static_cast<double>(size);
  return {{"loss", plan->Loss()}, {"first", first / n}, {"p_at_3", third / 3 / n}};
}

TEST(EvaluateTest, WideOutputsGiveWhatAllScoresGive) {
  for (bool multi_label : {false, true})
    for (const char* loss : {"softmax_cross_entropy", "sigmoid_cross_entropy"})
      for (DType arithmetic : {DType::kF32, DType::kBf16}) {
        Case c(multi_label, 4099, loss);
        for (int o = 0; o < 7; ++o)
          c.params.values(1).Host()[o] += 2;  // that some labels are found
        const Metrics expected = FromAllScores(c, arithmetic);
        const Metrics found = c.Measure(1, false, arithmetic);
        const bool exact = arithmetic == DType::kF32;
        const double whole = MetricOf(expected, "loss");
        EXPECT_NEAR(MetricOf(found, "loss"), whole, (exact ? 1e-5 : 1e-3) * std::max(whole, 1.0));
        EXPECT_NEAR(MetricOf(found, multi_label ? "p_at_1" : "accuracy"),
                    MetricOf(expected, "first"), exact ? 1e-3 : 0.02);
        EXPECT_GT(MetricOf(expected, "first"), 0.01);
        if (multi_label) {
          EXPECT_NEAR(MetricOf(found, "p_at_3"), MetricOf(expected, "p_at_3"), exact ? 1e-3 : 0.02);
        }
        EXPECT_EQ(found, c.Measure(3, false, arithmetic));
      }
}

TEST(RecallTest, CountsTheExactBestThatAreFound) {
  const std::vector<int32_t> exact = {7, 3, 9, 1, 4};
  EXPECT_EQ(Recall(exact, std::vector<int32_t>{7, 3, 9, 1, 4}, 5), 1);
  EXPECT_EQ(Recall(exact, std::vector<int32_t>{4, 1, 9, 3, 7}, 5), 1);
  EXPECT_EQ(Recall(exact, std::vector<int32_t>{4, 1, 9, 3, 7}, 1), 0);
  EXPECT_EQ(Recall(exact, std::vector<int32_t>{3, 9, 4, 8, -1}, 5), 0.6);
  EXPECT_EQ(Recall(exact, std::vector<int32_t>{-1, -1, -1, -1, -1}, 5), 0);
  EXPECT_EQ(Recall(std::vector<int32_t>{7, -1}, std::vector<int32_t>{7, -1}, 5), 1);
  EXPECT_EQ(Recall(std::vector<int32_t>{7, -1}, std::vector<int32_t>{7, 3}, 5), 1);
  EXPECT_EQ(Recall(std::vector<int32_t>{-1}, std::vector<int32_t>{-1}, 1), 1);
}

TEST(EvaluateSearchTest, GivesWhatTheRankingsGive) {
  for (bool multi_label : {false, true}) {
    Case c(multi_label, 4099);
    for (int o = 0; o < 7; ++o) c.params.values(1).Host()[o] += 2;
    Batch sample;
    c.reader.Read({.examples = std::vector<int64_t>{1, 20, 300}}, sample);
    const ParamView view = c.params.View();
    const auto search = [&](int threads, const OutputTables& tables) {
      return EvaluateSearch(c.reader, {.graph = c.graph, .params = view, .threads = threads},
                            tables);
    };
    const OutputTables all(c.graph, view, sample, {.hashes = 1, .tables = 16, .bucket = 4099});
    const SearchResult whole = search(1, all);
    const Metrics exact = c.Measure(1, false);
    for (const auto& [name, value] : exact) {
      if (name == "loss") continue;
      EXPECT_NEAR(MetricOf(whole.metrics, name), value, 1e-3) << name;
    }
    EXPECT_EQ(whole.metrics.size(), exact.size() + 1);
    EXPECT_GT(MetricOf(whole.metrics, "recall_at_1"), 0.999);
    EXPECT_GT(MetricOf(whole.metrics, "recall_at_5"), 0.999);
    EXPECT_GT(whole.scored, 4000);
    EXPECT_GT(whole.search_seconds, 0);
    EXPECT_EQ(search(3, all).metrics, whole.metrics);

    const OutputTables few(c.graph, view, sample, {.hashes = 8, .tables = 1, .bucket = 1});
    const SearchResult part = search(2, few);
    EXPECT_LT(MetricOf(part.metrics, "recall_at_5"), 0.999);
    EXPECT_LE(part.scored, static_cast<double>(few.always()) + 1);
    EXPECT_EQ(search(1, few).metrics, part.metrics);
  }
}

}  // namespace yoke::metrics_test
