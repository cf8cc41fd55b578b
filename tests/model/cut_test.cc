// A graph's cut: where it is, and that its two parts are the whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/support/model.h"

namespace yoke::cut_test {

using testing_support::LayerTable;
using testing_support::Linear;

const ModelTask kImage = {.input = {.shape = {2, 9, 9}}, .outputs = 3};

Value Convolution(int outputs) {
  return LayerTable("convolution", {{"outputs", outputs}, {"kernel", List{3}}});
}

/// Convolutions with statistics, then a dense tail with draws of its own.
List Layers() {
  return {Convolution(4),
          LayerTable("batch_norm"),
          LayerTable("relu"),
          LayerTable("max_pool", {{"kernel", List{2}}, {"stride", List{2}}}),
          LayerTable("flatten"),
          Linear(7),
          LayerTable("relu"),
          LayerTable("dropout"),
          Linear(3)};
}

TEST(Cut, IsBelowTheFirstFullyConnectedLayerOfTheChain) {
  const Graph graph(Layers(), kImage);
  const std::optional<GraphCut> cut = graph.Cut();
  ASSERT_TRUE(cut);
  EXPECT_EQ(graph.Info()[cut->node].name, "linear1");
  EXPECT_EQ(graph.layout().slices()[cut->first_slice].name, "linear1.weight");
  EXPECT_EQ(cut->activations, Shape{4 * 3 * 3});
  EXPECT_EQ(
      graph.Price(8, GraphPart::kBody).operations + graph.Price(8, GraphPart::kHead).operations,
      graph.Price(8).operations);
  EXPECT_GE(graph.Price(8, GraphPart::kHead).operations, 8 * 6 * (36 * 7 + 7 * 3));
}

TEST(Cut, IsNoneWithoutAHeadOrABody) {
  EXPECT_FALSE(Graph({LayerTable("flatten"), Linear(5), Linear(3)}, kImage).Cut());  // all is head
  EXPECT_FALSE(Graph({Convolution(3), LayerTable("global_average_pool")}, kImage).Cut());
  EXPECT_FALSE(Graph({Convolution(4), LayerTable("flatten", {{"name", "f"}}), Linear(3),
                      LayerTable("softmax_cross_entropy"),
                      LayerTable("linear", {{"outputs", 3}, {"inputs", List{"f"}}})},
                     kImage)
                   .Cut());  // an auxiliary head
  EXPECT_FALSE(Graph({Convolution(4), LayerTable("flatten"), Linear(3),
                      LayerTable("lsh_linear", {{"outputs", 3}})},
                     ModelTask{.input = kImage.input, .outputs = 3, .multi_label = true})
                   .Cut());  // the last layer keeps tables
}

TEST(Cut, MayLieAboveABranch) {
  const Graph graph({Convolution(4), LayerTable("relu", {{"name", "a"}}),
                     LayerTable("convolution", {{"outputs", 4}, {"kernel", List{1}}}),
                     LayerTable("add", {{"inputs", List{"a", "convolution2"}}}),
                     LayerTable("global_average_pool"), Linear(3)},
                    kImage);
  ASSERT_TRUE(graph.Cut());
  EXPECT_EQ(graph.Info()[graph.Cut()->node].name, "linear1");
}

TEST(Cut, IsBelowTheFirstHashedLayer) {
  const auto hashed = [](int outputs) { return LayerTable("lsh_linear", {{"outputs", outputs}}); };
  const Graph graph({Convolution(4), LayerTable("batch_norm"), LayerTable("flatten"), Linear(7),
                     hashed(5), LayerTable("relu"), hashed(3)},
                    kImage);
  const std::optional<GraphCut> cut = graph.Cut(CutAt::kHashed);
  ASSERT_TRUE(cut);
  EXPECT_EQ(graph.Info()[cut->node].name, "lsh_linear1");
  EXPECT_EQ(graph.layout().slices()[cut->first_slice].name, "lsh_linear1.weight");
  EXPECT_EQ(cut->activations, Shape{7});
  EXPECT_EQ(graph.Price(8, GraphPart::kBody, CutAt::kHashed).operations +
                graph.Price(8, GraphPart::kHead, CutAt::kHashed).operations,
            graph.Price(8).operations);
  EXPECT_FALSE(Graph({LayerTable("flatten"), hashed(3)}, kImage).Cut(CutAt::kHashed));
  EXPECT_FALSE(Graph(Layers(), kImage).Cut(CutAt::kHashed));
}

/// Body, head and body again, against the whole.
void ExpectPartsAreTheWhole(DType arithmetic, bool reference, double tolerance) {
  constexpr int64_t kBatch = 6;
  const Graph graph(Layers(), kImage);
  ParamStore params(graph.layout(), Cpu()), again(graph.layout(), Cpu());
  Initialize(params, 3);
  std::copy_n(params.values().Host().data(), graph.layout().size(), again.values().Host().data());
  Gradients whole(graph.layout(), Cpu()), parts(graph.layout(), Cpu());
  Batch batch;
  batch.size = kBatch;
  batch.ResizeDense(kImage.input.shape);
  for (int64_t i = 0; i < batch.dense.Count(); ++i)
    batch.dense.As<float>()[i] = static_cast<float>(i * 31 % 17) / 17;
  for (int i = 0; i < kBatch; ++i) batch.classes.push_back(i % 3), batch.examples.push_back(7 * i);

  CompileRequest request = {.batch = kBatch,
                            .training = true,
                            .arithmetic = arithmetic,
                            .target = {.reference = reference}};
  const auto plan = graph.Compile(request);
  plan->PrepareAndForward(batch, params.View(&whole));
  plan->Backward(batch, params.View(&whole), {});

  request.part = GraphPart::kBody;
  const auto body = graph.Compile(request);
  request.part = GraphPart::kHead;
  const auto head = graph.Compile(request);
  std::vector<std::string> ready;
  const auto tell = [&](int slice) { ready.push_back(graph.layout().slices()[slice].name); };
  for (int step = 0; step < 2; ++step) {  // memory is used again
    ready.clear();
    body->PrepareAndForward(batch, again.View(&parts));
    Batch above;
    above.size = batch.size;
    above.classes = batch.classes, above.examples = batch.examples;
    above.dense = body->Scores();
    head->PrepareAndForward(above, again.View(&parts));
    head->Backward(above, again.View(&parts), tell);
    const Tensor down = head->CutGradient();
    ASSERT_EQ(down.Bytes(), body->CutGradient().Bytes());
    std::copy_n(down.As<float>(), down.Count(), body->CutGradient().As<float>());
    body->Backward(batch, again.View(&parts), tell);
  }
  EXPECT_NEAR(head->Loss(), plan->Loss(), tolerance);
  for (int64_t i = 0; i < graph.layout().dense_size(); ++i)
    ASSERT_NEAR(parts.dense().Host()[i], whole.dense().Host()[i], tolerance) << i;
  EXPECT_THAT(ready, ::testing::UnorderedElementsAre("convolution1.weight", "convolution1.bias",
                                                     "batch_norm1.weight", "batch_norm1.bias",
                                                     "linear1.weight", "linear1.bias",
                                                     "linear2.weight", "linear2.bias"));
}

TEST(Cut, GivesPartsThatAreTheWhole) {
  ExpectPartsAreTheWhole(DType::kF32, false, 1e-6);
  ExpectPartsAreTheWhole(DType::kF32, true, 1e-6);
}

TEST(Cut, GivesPartsInBf16) { ExpectPartsAreTheWhole(DType::kBf16, false, 2e-2); }

}  // namespace yoke::cut_test
