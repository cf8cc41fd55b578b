// Hogwild: plain descent moves weights where the product is computed, and threads that share
// running statistics or hash tables change them together.
#include <gtest/gtest.h>

#include <set>

#include "model/layer.h"
#include "node/plans.h"
#include "node/sub_batch.h"
#include "node/support/job.h"

namespace yoke::hogwild_test {

using testing_support::DrawnBatch;
using testing_support::Job;
using testing_support::JobSettings;

Table Layer(const char* type, int64_t outputs = 0) {
  Table layer = {{"type", type}};
  if (outputs > 0) layer.emplace_back("outputs", outputs);
  return layer;
}

TEST(ImmediatePlans, MoveWeightsAndAnnounceTheRest) {
  const Table model = {{"name", "mlp"}, {"widths", List{32}}};
  const Graph graph = BuildModel(model, {.input = {.shape = {1, 28, 28}}, .outputs = 10});
  ParamStore params(graph.layout(), Cpu());
  Initialize(params, 1);
  const std::vector<float> before(params.values().Host().data(),
                                  params.values().Host().data() + graph.layout().size());
  Gradients expected(graph.layout(), Cpu()), gradients(graph.layout(), Cpu());
  std::fill_n(gradients.dense().Host().data(), gradients.dense().count, 7.0F);
  const ExecutorContext context{.graph = graph, .batch = 16};
  Plans plain(context, 16), immediate(context, 16, {.immediate = true});
  const Batch batch = DrawnBatch(16, 0);
  plain.For(batch).Forward(batch, params.View());
  plain.For(16).Backward(batch, params.View(&expected), {});
  ParamView view = params.View(&gradients);
  view.update.factor = -0.5F;
  immediate.For(batch).Forward(batch, view);
  std::set<int> announced;
  immediate.For(16).Backward(batch, view, [&](int slice) { announced.insert(slice); });
  for (int s = 0; s < 4; ++s) {
    const Slice& slice = graph.layout().slices()[s];
    const bool weight = slice.shape == Shape{32, 784};  // the small one keeps its gradient
    EXPECT_EQ(announced.contains(s), !weight) << slice.name;
    for (int64_t i = slice.offset; i < slice.offset + slice.Count(); ++i) {
      const float moved = weight ? 0.5F * expected.dense().Host()[i] : 0;
      ASSERT_NEAR(params.values().Host()[i], before[i] - moved, 1e-6) << slice.name;
      ASSERT_EQ(gradients.dense().Host()[i], weight ? 7.0F : expected.dense().Host()[i])
          << slice.name;
    }
  }
}

/// Rounds of 32 examples against steps of small batches one after the other.
void ExpectSequential(JobSettings settings, int64_t small, float tolerance) {
  settings.rule = "sgd";
  settings.widths = {32, 9};
  JobSettings round = settings;
  round.executor = "hogwild";
  round.node = {{"hogwild_batch", small}, {"hogwild_scale_rate", false}};
  Job hogwild(round), sequential(settings);
  for (uint64_t step = 0; step < 3; ++step) {
    const Batch batch = DrawnBatch(32, step);
    hogwild.Step(batch);
    for (int64_t begin = 0; begin < 32; begin += small) {
      Batch share;
      TakeSubBatch(batch, begin, begin + small, share);
      sequential.Step(share);
    }
  }
  const std::vector<float> found = hogwild.Values(), expected = sequential.Values();
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(Hogwild, MovesWeightsOnTheSpotAsByAGradient) {
  for (const int64_t small : {1, 2, 8, 16})
    for (const bool reference : {false, true})
      ExpectSequential({.reference = reference}, small, 1e-6F);
  ExpectSequential({.arithmetic = DType::kBf16}, 16, 3e-3F);
}

/// The running statistics after some rounds.
std::vector<float> Statistics(int threads) {
  JobSettings settings{.layers = {Layer("flatten"), Layer("linear", 24), Layer("batch_norm"),
                                  Layer("relu"), Layer("linear", 10)},
                       .batch = 64,
                       .executor = "hogwild",
                       .node = {{"hogwild_batch", 8}},
                       .threads = threads,
                       .rule = "sgd"};
  Job job(settings);
  for (uint64_t step = 0; step < 40; ++step) job.Step(DrawnBatch(64, step % 3));
  std::vector<float> statistics;
  for (const Slice& slice : job.params().layout().slices())
    if (slice.kind == SliceKind::kBuffer)
      statistics.insert(statistics.end(), job.params().values().Host().data() + slice.offset,
                        job.params().values().Host().data() + slice.offset + slice.Count());
  return statistics;
}

TEST(Hogwild, ThreadsMoveRunningStatisticsTogether) {
  const std::vector<float> one = Statistics(1), four = Statistics(4);
  ASSERT_EQ(one.size(), 48);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(four[i], one[i], 0.1) << i;
}

TEST(Hogwild, ThreadsShareTheTablesOfAHashedLayer) {
  JobSettings settings{
      .layers = {Layer("flatten"), Layer("linear", 16), Layer("relu"), Layer("lsh_linear", 10)},
      .batch = 64,
      .executor = "hogwild",
      .node = {{"hogwild_batch", 8}},
      .threads = 4,
      .rule = "adam"};
  Job job(settings);
  for (uint64_t step = 0; step < 10; ++step) job.Step(DrawnBatch(64, step % 3));
  LayerStates& states = job.layer_states();
  for (size_t node = 0; node < states.size(); ++node) {
    auto* const counts = dynamic_cast<LayerCounts*>(states.of(node));
    if (!counts) continue;
    EXPECT_EQ(counts->TakeCounts()[0], std::pair(std::string("sets"), 80.0)) << "of all threads";
  }
  const std::vector<StateTensor> tensors = job.graph().StateTensors(states);
  ASSERT_FALSE(tensors.empty());
  EXPECT_EQ(static_cast<const int32_t*>(tensors[0].data)[0], 80) << "steps of all threads";
}

}  // namespace yoke::hogwild_test
