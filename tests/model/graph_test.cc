// Graph: names, shapes, fusion, refusals; its plans: gradients in order, memory, scores without
// labels, bf16.
#include "model/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "model/support/model.h"

namespace yoke::graph_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::ExpectGradientsAgree;
using testing_support::kTask;
using testing_support::LayerTable;
using testing_support::Linear;
using testing_support::Model;
using testing_support::Refusal;

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const LayerInfo& info : graph.Info()) names.push_back(info.name);
  return names;
}

TEST(Graph, NamesLayersByTypeAndNumber) {
  const Graph graph({Linear(4), LayerTable("tanh"), Linear(3)}, kTask);
  EXPECT_THAT(Names(graph), ElementsAre("linear1", "tanh1", "linear2", "softmax_cross_entropy1"));
  EXPECT_EQ(graph.layout().slices()[2].name, "linear2.weight");
}

TEST(Graph, AbsorbsARelu) {
  const Graph graph({Linear(4), LayerTable("relu"), LayerTable("relu"), Linear(3)}, kTask);
  EXPECT_THAT(Names(graph), ElementsAre("linear1", "relu2", "linear2", "softmax_cross_entropy1"));
  EXPECT_EQ(graph.Info()[0].type, "linear+relu");
}

TEST(Graph, TellsOutputsParametersAndCost) {
  const Graph graph({Linear(4), Linear(3)}, kTask);
  const std::vector<LayerInfo> info = graph.Info();
  EXPECT_EQ(info[0].output, Shape{4});
  EXPECT_EQ(info[0].parameters, 28);
  EXPECT_EQ(info[1].parameters, 15);
  EXPECT_GE(graph.Price(10).operations, 10 * 6 * (24 + 12));
}

TEST(Graph, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Refusal({Linear(4)}), AllOf(HasSubstr("linear1"), HasSubstr("3 classes")));
  EXPECT_THAT(Refusal({}), HasSubstr("no layers"));
  EXPECT_THAT(Refusal({LayerTable("liner")}), HasSubstr("linear"));
  EXPECT_THAT(Refusal({Table{{"outputs", 3}}}), HasSubstr("no type"));
  EXPECT_THAT(Refusal({Linear(3), LayerTable("linear", {{"output", 3}})}),
              AllOf(HasSubstr("model.layer[1]"), HasSubstr("outputs")));
  EXPECT_THAT(Refusal({Linear(3), LayerTable("softmax_cross_entropy"), Linear(3)}),
              HasSubstr("follows the loss"));
  EXPECT_THAT(Refusal({LayerTable("softmax_cross_entropy")}), HasSubstr("below"));
  EXPECT_THAT(Refusal({LayerTable("linear", {{"outputs", 3}, {"name", "a"}}),
                       LayerTable("linear", {{"outputs", 3}, {"name", "a"}})}),
              HasSubstr("'a'"));
  EXPECT_THAT(Refusal({LayerTable("linear", {{"outputs", 3}, {"name", "a.b"}})}), HasSubstr("a.b"));
}

/// The layers of a job file, whose first line is line 1.
List Written(const std::string& text) {
  return *ParseToml(text, "job.toml").Find("layer")->AsList();
}

TEST(Graph, SaysWhereARefusedLayerIsWritten) {
  const ModelTask image = {.input = {.shape = {1, 4, 4}}, .outputs = 3};
  const std::string linear = "[[layer]]\ntype = \"linear\"\noutputs = 3\n";
  EXPECT_THAT(Refusal(Written("[[layer]]\ntype = \"max_pool\"\nkernel = 9\n" + linear), image),
              AllOf(StartsWith("job.toml:1: "), HasSubstr("max_pool1")));
  EXPECT_THAT(Refusal(Written(linear + "[[layer]]\ntype = \"dropout\"\nprobability = 1.0\n")),
              StartsWith("job.toml:6: "))
      << "the key's own place, and that once";
  EXPECT_THAT(Refusal(Written(linear + "[[layer]]\ntype = \"add\"\n")), StartsWith("job.toml:4: "));
  EXPECT_THAT(Refusal(Written("[[layer]]\ntype = \"linear\"\noutputs = 4\n")),
              AllOf(StartsWith("job.toml:1: "), HasSubstr("3 classes")));
}

TEST(Graph, SaysWhereALayerIsWrittenThatItsPlanRefuses) {
  const Graph graph(Written("[[layer]]\ntype = \"batch_norm\"\n"
                            "[[layer]]\ntype = \"linear\"\noutputs = 3\n"),
                    kTask);
  try {
    graph.Compile({.batch = 1, .training = true});
    FAIL() << "one example has no statistics";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), StartsWith("job.toml:1: "));
  }
}

const List kLayers = {Linear(5), LayerTable("relu"),    LayerTable("tanh"),
                      Linear(7), LayerTable("sigmoid"), Linear(3)};

class GraphPlanKernels : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Reference, GraphPlanKernels, ::testing::Bool());

TEST_P(GraphPlanKernels, GradientsAgreeWithDifferences) {
  Model m(kLayers);
  const auto plan = m.Compile(true, DType::kF32, GetParam());
  ExpectGradientsAgree(m, *plan, 1e-2F, 2e-3);
}

TEST(GraphPlan, AnnouncesGradientsFromTheTopDown) {
  Model m(kLayers);
  const auto plan = m.Compile(true);
  std::vector<int> order;
  plan->PrepareAndForward(m.batch, m.params.View(&m.gradients));
  plan->Backward(m.batch, m.params.View(&m.gradients), [&](int slice) { order.push_back(slice); });
  EXPECT_THAT(order, ElementsAre(4, 5, 2, 3, 0, 1));
}

TEST(GraphPlan, InferenceGivesTheScoresOfTraining) {
  const Model m(kLayers);
  const auto training = m.Compile(true), inference = m.Compile(false);
  EXPECT_EQ(m.Scores(*training, m.batch), m.Scores(*inference, m.batch));
  EXPECT_DOUBLE_EQ(training->Loss(), inference->Loss());
  EXPECT_LT(inference->MemoryBytes(), training->MemoryBytes());
}

TEST(GraphPlan, ScoresBatchesWithoutLabels) {
  const Model m(kLayers);
  const auto plan = m.Compile(false);
  const std::vector<float> expected = m.Scores(*plan, m.batch);
  Batch unlabelled;
  unlabelled.size = 4;
  unlabelled.ResizeDense(kTask.input.shape);
  std::copy_n(m.batch.dense.As<float>(), 24, unlabelled.dense.As<float>());
  EXPECT_EQ(m.Scores(*plan, unlabelled), expected);
  EXPECT_TRUE(std::isnan(plan->Loss()));
}

TEST(GraphPlan, Bf16MakesItsOwnCopyOfTheParameters) {
  const Model m(kLayers);
  const auto exact = m.Compile(false), bf16 = m.Compile(false, DType::kBf16);
  const std::vector<float> expected = m.Scores(*exact, m.batch), found = m.Scores(*bf16, m.batch);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.02);
  EXPECT_NE(found, expected);
}

TEST(GraphPlan, AnInPlaceFirstLayerLeavesTheBatchAlone) {
  const Model m({LayerTable("flatten"), LayerTable("relu"), Linear(3)});
  const std::vector<float> before(m.batch.dense.As<float>(), m.batch.dense.As<float>() + 24);
  const auto plan = m.Compile(true);
  m.Scores(*plan, m.batch);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), m.batch.dense.As<float>()));
}

TEST(GraphPlan, FindsWhereNumbersStopBeingFinite) {
  Model m(kLayers);
  const auto plan = m.Compile(true);
  m.Scores(*plan, m.batch);
  EXPECT_EQ(plan->FirstNonFinite(), "");
  m.params.values(3).Host()[0] = std::numeric_limits<float>::quiet_NaN();  // linear2.bias
  m.Scores(*plan, m.batch);
  EXPECT_TRUE(std::isnan(plan->Loss()));
  EXPECT_EQ(plan->FirstNonFinite(), "linear2");
}

TEST(Graph, DescribesItsOutputProduct) {
  const auto output = Graph(kLayers, kTask).Output();
  ASSERT_TRUE(output);
  EXPECT_EQ(output->weight, 4);
  EXPECT_EQ(output->bias, 5);
  EXPECT_EQ(output->inputs, 7);
  EXPECT_EQ(output->outputs, 3);
  const Table plain = {{"outputs", 3}, {"bias", false}};
  EXPECT_EQ(Graph({LayerTable("linear", plain)}, kTask).Output()->bias, -1);
  EXPECT_FALSE(Graph({Linear(3), LayerTable("relu")}, kTask).Output());
  EXPECT_FALSE(Graph({Linear(3), LayerTable("tanh")}, kTask).Output());
}

/// Scores by hand from a plan that stops below the output.
std::vector<float> FinishedScores(const Model& m, DType type) {
  const OutputProduct output = *m.graph.Output();
  const auto plan =
      m.graph.Compile({.batch = m.batch.size, .arithmetic = type, .below_output = true});
  const std::vector<float> below = m.Scores(*plan, m.batch);
  EXPECT_TRUE(std::isnan(plan->Loss()));
  EXPECT_EQ(plan->FirstNonFinite(), "");
  std::vector<float> scores;
  for (int64_t n = 0; n < m.batch.size; ++n)
    for (int64_t o = 0; o < output.outputs; ++o) {
      float score = m.params.values(output.bias).Host()[o];
      for (int64_t i = 0; i < output.inputs; ++i)
        score += below[n * output.inputs + i] *
                 m.params.values(output.weight).Host()[o * output.inputs + i];
      scores.push_back(score);
    }
  return scores;
}

TEST(GraphPlan, StopsBelowTheOutput) {
  const std::vector<List> models = {kLayers,
                                    {Linear(3)},
                                    {LayerTable("flatten"), Linear(3)},
                                    {Linear(5), LayerTable("relu"), Linear(3)}};
  for (const List& layers : models)
    for (DType type : {DType::kF32, DType::kBf16}) {
      const Model m(layers);
      const std::vector<float> expected = m.Scores(*m.Compile(false), m.batch);
      const std::vector<float> found = FinishedScores(m, type);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], type == DType::kF32 ? 1e-5 : 0.02);
    }
}

TEST(GraphPlan, RefusesABatchOfAnotherSize) {
  const Model m(kLayers), other(kLayers, 5);
  const auto plan = m.Compile(true);
  EXPECT_THROW(plan->Prepare(other.batch), Error);
}

TEST(GraphPlan, GoesForwardOnceAfterPrepareOfTheBatch) {
  const Model m(kLayers), other(kLayers);
  const auto plan = m.Compile(true);
  EXPECT_THROW(plan->Forward(m.batch, m.params.View()), Error);
  plan->Prepare(other.batch);
  EXPECT_THROW(plan->Forward(m.batch, m.params.View()), Error);
  plan->PrepareAndForward(m.batch, m.params.View());
  EXPECT_THROW(plan->Forward(m.batch, m.params.View()), Error);
}

TEST(GraphPlan, PrepareRefusesLabelsThatAreNotTheModels) {
  for (const double weight : {1.0, 0.5}) {
    Model m({Linear(3), LayerTable("softmax_cross_entropy", {{"weight", weight}})});
    m.batch.classes[2] = 3;
    EXPECT_THAT(
        [&] { m.Compile(true)->Prepare(m.batch); },
        testing::ThrowsMessage<Error>(HasSubstr("a label is not among the model's outputs")));
  }
}

}  // namespace yoke::graph_test
