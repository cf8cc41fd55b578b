// lsh_linear: with every output active it is the dense layer; with fewer, only the rows that a step
// used have gradients; its tables travel in its state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "model/graph.h"
#include "model/layer.h"

namespace yoke::lsh_linear_test {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 7, kFeatures = 12, kLabels = 40;

Value Layer(const char* type, Table options = {}) {
  options.insert(options.begin(), {"type", type});
  return Value(std::move(options));
}

ModelTask Task(bool sparse) {
  return {
      .input = {.shape = {kFeatures}, .sparse = sparse}, .outputs = kLabels, .multi_label = true};
}

/// A batch with about half of its features, and one to three labels an example.
Batch Examples(bool sparse, uint64_t seed = 5) {
  Random random({seed});
  Batch batch;
  batch.size = kBatch;
  batch.seed = 3;
  batch.examples.resize(kBatch);
  std::iota(batch.examples.begin(), batch.examples.end(), 100);
  batch.is_sparse = sparse;
  batch.sparse.width = kFeatures;
  batch.labels.width = kLabels;
  batch.sparse.Clear(), batch.labels.Clear();
  batch.ResizeDense({kFeatures});
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int32_t f = 0; f < kFeatures; ++f) {
      const bool there = random.Uniform() < 0.5;
      const auto value = there ? static_cast<float>(random.Normal()) : 0.0F;
      batch.dense.As<float>()[n * kFeatures + f] = value;
      if (there) batch.sparse.ids.push_back(f), batch.sparse.values.push_back(value);
    }
    batch.sparse.offsets.push_back(static_cast<int64_t>(batch.sparse.ids.size()));
    for (uint64_t k = 0; k <= random.Below(3); ++k)
      batch.labels.ids.push_back(static_cast<int32_t>(13 * k + random.Below(13)));
    batch.labels.offsets.push_back(static_cast<int64_t>(batch.labels.ids.size()));
  }
  return batch;
}

/// What a training step of a graph gives; row-sparse gradients written out.
struct StepOf {
  double loss = 0;
  std::vector<std::vector<float>> gradients;  ///< By slice.
  std::vector<std::vector<int32_t>> rows;     ///< By slice: those touched.
};

StepOf Step(const Graph& graph, const Batch& batch, CompileRequest request = {},
            LayerStates* states = nullptr) {
  ParamStore params(graph.layout(), Cpu());
  Initialize(params, 11);
  Gradients gradients(graph.layout(), Cpu());
  request.batch = batch.size;
  request.training = true;
  const auto plan = graph.Compile(request);
  ParamView view = params.View(&gradients);
  view.states = states;
  plan->PrepareAndForward(batch, view);
  plan->Backward(batch, view, {});
  StepOf step{.loss = plan->Loss()};
  for (size_t i = 0; i < graph.layout().slices().size(); ++i) {
    const Slice& slice = graph.layout().slices()[i];
    std::vector<float> all(slice.Count(), 0.0F);
    if (slice.kind == SliceKind::kDense)
      std::copy_n(gradients.dense().Host().data() + slice.offset, slice.Count(), all.begin());
    const RowGradient& rows = gradients.rows(static_cast<int>(i));
    const int64_t width = slice.Count() / slice.shape[0];
    for (size_t r = 0; r < rows.ids.size(); ++r)
      std::copy_n(rows.values.begin() + r * width, width, all.begin() + rows.ids[r] * width);
    step.gradients.push_back(std::move(all));
    step.rows.push_back(rows.ids);
  }
  return step;
}

void ExpectSame(const StepOf& a, const StepOf& b, double tolerance) {
  EXPECT_NEAR(a.loss, b.loss, tolerance * std::abs(b.loss));
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    ASSERT_EQ(a.gradients[i].size(), b.gradients[i].size());
    for (size_t k = 0; k < a.gradients[i].size(); ++k)
      EXPECT_NEAR(a.gradients[i][k], b.gradients[i][k], tolerance) << "slice " << i << " at " << k;
  }
}

/// `first` in both; then lsh_linear with everything active, or linear; names and first weights
/// agree.
Graph Model(const List& first, bool hashed, const Table& options, const char* loss, bool sparse) {
  List layers = first;
  Table table = {{"outputs", kLabels}, {"name", "out"}, {"bias_initializer", "fan_in_uniform"}};
  if (hashed)
    for (const auto& option : options) table.push_back(option);
  layers.push_back(Layer(hashed ? "lsh_linear" : "linear", table));
  layers.push_back(Layer(loss));
  return {layers, Task(sparse)};
}

const Table kEverything = {{"share", 1.0}, {"group", 5}};

TEST(LshLinear, WithEverythingActiveItIsTheDenseLayer) {
  const List first = {Layer("linear", {{"outputs", 10}, {"name", "in"}}), Layer("relu")};
  const Batch batch = Examples(false);
  for (const char* loss : {"softmax_cross_entropy", "sigmoid_cross_entropy"})
    for (const bool reference : {true, false}) {
      SCOPED_TRACE(loss);
      ExpectSame(
          Step(Model(first, true, kEverything, loss, false), batch,
               {.target = {.reference = reference}}),
          Step(Model(first, false, {}, loss, false), batch, {.target = {.reference = reference}}),
          1e-5);
    }
}

TEST(LshLinear, IsTheDenseLayerWithSmallGroupsToo) {
  const Batch batch = Examples(false);
  const char* loss = "softmax_cross_entropy";
  const auto layers = [](const char* type, Table more) {
    more.insert(more.end(), {{"outputs", 20}, {"name", "in"}, {"bias_initializer", "zeros"}});
    return List{Layer("linear", {{"outputs", 10}}), Layer(type, more), Layer("relu")};
  };
  const StepOf dense = Step(Model(layers("linear", {}), false, {}, loss, false), batch);
  for (const int64_t group : {1, 3})
    for (const bool reference : {true, false}) {
      SCOPED_TRACE(group);
      const Table small = {{"share", 1.0}, {"group", group}};
      ExpectSame(Step(Model(layers("lsh_linear", small), true, small, loss, false), batch,
                      {.target = {.reference = reference}}),
                 dense, 1e-5);
    }
}

TEST(LshLinear, TakesSparseInputAndStacks) {
  const Batch batch = Examples(true);
  Table hidden = {{"outputs", 20}, {"name", "in"}, {"share", 1.0}, {"group", 4}};
  const Graph hashed = Model({Layer("lsh_linear", hidden), Layer("relu")}, true, kEverything,
                             "softmax_cross_entropy", true);
  // The dense twin reads the same numbers as dense input.
  const Graph dense =
      Model({Layer("linear", {{"outputs", 20}, {"name", "in"}, {"bias_initializer", "zeros"}}),
             Layer("relu")},
            false, {}, "softmax_cross_entropy", false);
  ExpectSame(Step(hashed, batch), Step(dense, batch), 1e-5);
}

TEST(LshLinear, ComputesInBf16) {
  const List first = {Layer("linear", {{"outputs", 10}, {"name", "in"}}), Layer("relu")};
  const Batch batch = Examples(false);
  const char* loss = "softmax_cross_entropy";
  ExpectSame(
      Step(Model(first, true, kEverything, loss, false), batch, {.arithmetic = DType::kBf16}),
      Step(Model(first, true, kEverything, loss, false), batch), 3e-2);
}

TEST(LshLinear, TouchesLabelsAndTheWantedRowsOnly) {
  const List first = {Layer("sparse_linear", {{"outputs", 10}})};
  const Batch batch = Examples(true);
  for (const char* sampler : {"top_k", "vanilla", "threshold", "uniform"}) {
    const bool hashes = std::string(sampler) != "uniform";
    Table options = {{"sampler", sampler}, {"random", 3}, {"group", 7}};
    if (hashes) options.insert(options.end(), {{"hard", 2}, {"tables", 5}});
    const Graph graph = Model(first, true, options, "sigmoid_cross_entropy", true);
    const StepOf step = Step(graph, batch);
    const std::vector<int32_t>& rows = step.rows[1 + 1];
    std::vector<int32_t> labels = batch.labels.ids;
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    const size_t drawn = hashes ? 5 : 3;
    EXPECT_EQ(rows.size(), labels.size() + drawn) << sampler;
    EXPECT_TRUE(std::includes(rows.begin(), rows.end(), labels.begin(), labels.end())) << sampler;
  }
}

TEST(LshLinear, CorrectsTheRandomPart) {
  // One label of forty and three drawn: corrected scores make the drawn ones stand for thirty-nine.
  const List first = {Layer("sparse_linear", {{"outputs", 10}, {"initializer", "zeros"}})};
  Batch batch = Examples(true);
  batch.labels.Clear();
  for (int64_t n = 0; n < kBatch; ++n)
    batch.labels.ids.push_back(4), batch.labels.offsets.push_back(n + 1);
  for (const bool correct : {false, true}) {
    const Table options = {{"sampler", "uniform"},
                           {"random", 3},
                           {"group", 7},
                           {"correct", correct},
                           {"bias_initializer", "zeros"}};
    Table table = {{"outputs", kLabels}};
    table.insert(table.end(), options.begin(), options.end());
    const Graph graph({first[0], Layer("lsh_linear", table), Layer("softmax_cross_entropy")},
                      Task(true));
    EXPECT_NEAR(Step(graph, batch).loss, std::log(correct ? 40.0 : 4.0), 1e-5);
  }
  const Graph later({first[0],
                     Layer("lsh_linear", {{"outputs", kLabels},
                                          {"sampler", "uniform"},
                                          {"random", 3},
                                          {"group", 7},
                                          {"correct", true},
                                          {"correct_from", 2},
                                          {"bias_initializer", "zeros"}}),
                     Layer("softmax_cross_entropy")},
                    Task(true));
  EXPECT_NEAR(Step(later, batch).loss, std::log(4.0), 1e-5) << "the first epoch";
  batch.epoch = 1;
  EXPECT_NEAR(Step(later, batch).loss, std::log(40.0), 1e-5) << "the second";
}

/// A few steps with states, of which the second half may start from the tensors of the first.
std::vector<double> Losses(const Table& options, int steps, int handed_over) {
  const List first = {Layer("sparse_linear", {{"outputs", 10}})};
  const Graph graph = Model(first, true, options, "softmax_cross_entropy", true);
  LayerStates states = graph.MakeStates();
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    if (step == handed_over) {
      LayerStates next = graph.MakeStates();
      const auto from = graph.StateTensors(states), to = graph.StateTensors(next);
      for (size_t i = 0; i < from.size(); ++i)
        std::memcpy(to[i].data, from[i].data,
                    static_cast<size_t>(from[i].shape.Count() * SizeOf(from[i].type)));
      for (size_t node = 0; node < next.size(); ++node)
        if (next.of(node)) next.of(node)->Restored();
      states = std::move(next);
    }
    losses.push_back(Step(graph, Examples(true, 20 + step), {}, &states).loss);
  }
  return losses;
}

TEST(LshLinear, GoesOnFromItsStateIdentically) {
  Table options = {{"hard", 4},   {"random", 2},       {"group", 3},        {"tables", 6},
                   {"hashes", 3}, {"rehash", "fixed"}, {"rehash_every", 2}, {"redraw_every", 2}};
  EXPECT_EQ(Losses(options, 9, 5), Losses(options, 9, -1));
  options.emplace_back("bucket", 900);  // packed
  EXPECT_EQ(Losses(options, 9, 5), Losses(options, 9, -1));
  options.pop_back();
  options.emplace_back("rehash_touched", true);
  EXPECT_EQ(Losses(options, 9, 5), Losses(options, 9, -1));
}

/// The only layer that counts, after some steps.
std::map<std::string, double> Counts(const Table& options, int steps, int64_t inputs = 10) {
  const Graph graph = Model({Layer("sparse_linear", {{"outputs", inputs}})}, true, options,
                            "softmax_cross_entropy", true);
  LayerStates states = graph.MakeStates();
  for (int step = 0; step < steps; ++step) Step(graph, Examples(true, 20 + step), {}, &states);
  auto* const counts = dynamic_cast<LayerCounts*>(states.of(1));
  std::map<std::string, double> all = {{"passes", counts->Seconds()}};
  for (const auto& [name, value] : counts->TakeCounts()) all[name] = value;
  EXPECT_TRUE(counts->TakeCounts().empty());
  return all;
}

TEST(LshLinear, CountsWhatIsActive) {
  auto counts = Counts({{"hard", 9}, {"random", 4}, {"group", 1}}, 6);
  EXPECT_EQ(counts["sets"], 6 * kBatch);
  EXPECT_EQ(counts["found"] + counts["random"], 13);
  EXPECT_GE(counts["random"], 4);
  EXPECT_NEAR(counts["active"], counts["labels"] + counts["found"] + counts["random"], 1e-9);
  EXPECT_GT(counts["labels"], 1);
  EXPECT_GT(counts["bucket_load"], 1);
  counts = Counts({{"sampler", "uniform"}, {"share", 0.25}}, 3);
  EXPECT_EQ(counts["random"], 10);
  EXPECT_EQ(counts["found"], 0);
  EXPECT_FALSE(counts.contains("bucket_load"));
}

TEST(LshLinear, WithoutFillNothingIsDrawnAtRandom) {
  // Keys of 60 bits: few queries find anything.
  auto counts = Counts({{"form", "paper"}, {"hashes", 60}, {"tables", 2}, {"share", 0.5}}, 6);
  EXPECT_EQ(counts["random"], 0);
  EXPECT_GT(counts["empty_queries"], 0.5);
  EXPECT_LT(counts["found"], 1);
  counts = Counts({{"form", "paper"}, {"hashes", 2}, {"share", 0.5}}, 6);
  EXPECT_EQ(counts["random"], 0);
  EXPECT_LT(counts["empty_queries"], 0.1);
  EXPECT_GT(counts["found"], 5);
}

/// The fraction of its passes' time that the layer's parts explain.
double Explained() {
  auto counts = Counts({{"hard", 9}, {"random", 4}}, 20, 2000);
  double sum = 0;
  for (const char* part : {"rebuild", "hash", "query", "gather", "product", "merge"}) {
    EXPECT_GT(counts[part + std::string("_seconds")], 0) << part;
    sum += counts[part + std::string("_seconds")];
  }
  EXPECT_LE(sum, counts["passes"] * (1 + 1e-9));
  return sum / counts["passes"];
}

TEST(LshLinear, PartsOfItsTimeSumToItsPasses) {
  double best = 0;  // of several attempts: other processes may take the time between two parts
  for (int attempt = 0; attempt < 10 && best <= 0.95; ++attempt) best = std::max(best, Explained());
  EXPECT_GT(best, 0.95);
}

TEST(LshLinear, TrainsWhereNothingIsActive) {
  const Graph graph =
      Model({Layer("sparse_linear", {{"outputs", 10}})}, true,
            {{"form", "paper"}, {"hashes", 60}, {"tables", 2}}, "softmax_cross_entropy", true);
  Batch batch = Examples(true);
  batch.labels.ids.clear();
  std::ranges::fill(batch.labels.offsets, 0);
  const StepOf step = Step(graph, batch);
  EXPECT_EQ(step.loss, 0);
  for (const auto& gradient : step.gradients) EXPECT_THAT(gradient, testing::Each(0));
}

TEST(LshLinear, SaysHowMuchItsStateTakes) {
  for (const auto& more :
       Table{{"rehash_touched", false}, {"rehash_touched", true}, {"bucket", 900}}) {
    const Graph graph = Model({Layer("sparse_linear", {{"outputs", 10}})}, true,
                              {{"hard", 4}, {"random", 2}, more}, "softmax_cross_entropy", true);
    const LayerStates states = graph.MakeStates();
    const int64_t said = states.Bytes();
    int64_t bytes = 0;
    for (const StateTensor& tensor : graph.StateTensors(states))
      bytes += tensor.shape.Count() * SizeOf(tensor.type);
    EXPECT_GT(bytes, 0);
    EXPECT_EQ(said, bytes + kLabels * 24 * int64_t{sizeof(uint32_t)}) << "the keys of a slice";
  }
}

std::string Refusal(const Table& options) {
  try {
    Model({Layer("sparse_linear", {{"outputs", 10}})}, true, options, "softmax_cross_entropy",
          true);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(LshLinear, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Refusal({{"sampler", "uniform"}, {"random", 0}}), HasSubstr("nothing but labels"));
  EXPECT_THAT(Refusal({{"hard", 0}}), HasSubstr("nothing to the tables"));
  for (const char* name : {"hard", "hashes", "tables", "bucket", "rehash_every"})
    EXPECT_THAT(Refusal({{"sampler", "uniform"}, {name, 5}}), HasSubstr("leave it out"));
  EXPECT_THAT(Refusal({{"threshold", 3}}), HasSubstr("leave it out"));
  EXPECT_THAT(Refusal({{"correct_from", 2}}), HasSubstr("correct = true"));
  try {
    const Graph graph(
        {Layer("lsh_linear", {{"outputs", kLabels}, {"correct", true}}), Layer("relu")},
        Task(true));
    ADD_FAILURE() << "a relu above corrected scores";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot have correct = true"));
  }
  EXPECT_THAT(Refusal({{"hashes", 3}, {"slots", 16}}), HasSubstr("slots"));
  EXPECT_THAT(Refusal({{"sampler", "topk"}}), HasSubstr("top_k"));
  const Table lock_free = {{"outputs", 20}, {"group", 1}, {"updates", "lock_free"}};
  EXPECT_THROW(Graph({Layer("lsh_linear", lock_free), Layer("softmax_cross_entropy")}, Task(true)),
               UserError);
  const List layers = {Layer("sparse_linear", {{"outputs", 10}}),
                       Layer("lsh_linear", {{"outputs", 20}}),
                       Layer("linear", {{"outputs", kLabels}})};
  try {
    Graph graph(layers, Task(true));
    ADD_FAILURE() << "a dense layer on an active set";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("active sets"));
  }
}

}  // namespace yoke::lsh_linear_test
