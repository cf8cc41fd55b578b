// Graphs that branch: gradients of edges with several readers, what absorbs what, auxiliary heads,
// and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/support/model.h"

namespace yoke::branches_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::ExpectGradientsAgree;
using testing_support::kTask;
using testing_support::LayerTable;
using testing_support::Linear;
using testing_support::Model;
using testing_support::Refusal;

Value From(Value layer, const std::vector<std::string>& inputs) {
  layer.AsTable()->emplace_back("inputs", List(inputs.begin(), inputs.end()));
  return layer;
}

Value Named(const std::string& name, Value layer) {
  layer.AsTable()->emplace_back("name", name);
  return layer;
}

/// A block whose input has three readers, one of them a flatten that shares its memory, and whose
/// sum reads one edge twice.
const List kBranches = {Named("below", Linear(5)),
                        LayerTable("tanh"),
                        Named("left", Linear(5)),
                        Named("right", From(Linear(5), {"tanh1"})),
                        Named("same", From(LayerTable("flatten"), {"tanh1"})),
                        Named("sum", From(LayerTable("add"), {"left", "same", "right", "left"})),
                        LayerTable("sigmoid"),
                        Named("both", From(LayerTable("concat"), {"sigmoid1", "tanh1", "below"})),
                        Linear(3)};

const List kResidual = {Named("low", Linear(4)),
                        Named("norm1", LayerTable("batch_norm")),
                        LayerTable("relu"),
                        Linear(4),
                        LayerTable("batch_norm"),
                        From(LayerTable("add"), {"batch_norm2", "relu1"}),
                        Named("top", LayerTable("relu")),
                        Linear(3)};

TEST(Branches, GradientsAgreeWithDifferences) {
  for (const bool reference : {false, true}) {
    Model m(kBranches);
    ExpectGradientsAgree(m, *m.Compile(true, DType::kF32, reference), 1e-2F, 2e-3);
  }
}

TEST(Branches, ResidualGradientsAgreeWithDifferences) {
  for (const bool reference : {false, true}) {
    Model m(kResidual, 16);
    ExpectGradientsAgree(m, *m.Compile(true, DType::kF32, reference), 2e-3F, 1e-2);
  }
}

/// Two residual blocks: the first one's output has two readers, and absorbed addition and ReLU.
const List kTwoBlocks = {Named("low", Linear(4)),
                         Named("norm1", LayerTable("batch_norm")),
                         From(LayerTable("add"), {"norm1", "low"}),
                         Named("block1", LayerTable("relu")),
                         Linear(4),
                         Named("norm2", LayerTable("batch_norm")),
                         Named("block2", From(LayerTable("add"), {"norm2", "block1"})),
                         Linear(4),
                         Named("norm3", LayerTable("batch_norm")),
                         From(LayerTable("add"), {"norm3", "block2", "block1"}),
                         Linear(3)};

TEST(Branches, GradientsOfTwoBlocksAgreeWithDifferences) {
  for (const bool reference : {false, true}) {
    Model m(kTwoBlocks, 16);
    ExpectGradientsAgree(m, *m.Compile(true, DType::kF32, reference), 1e-4F, 1e-2);
  }
}

/// A concatenation of images of which only some are trained: of the others nobody wants a gradient.
TEST(Branches, ConcatenationsTakeUntrainedInputs) {
  const ModelTask images = {.input = {.shape = {2, 4, 4}}, .outputs = 3};
  const auto conv = [](const char* name) {
    return From(
        Named(name, LayerTable("convolution",
                               {{"outputs", 3}, {"kernel", List{3}}, {"padding", List{1}}})),
        {"data"});
  };
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"data", "a"}, {"a", "data", "b"}, {"a", "untrained", "b"}}) {
    List layers = {conv("a")};
    if (order.back() == "b") layers.push_back(conv("b"));
    if (order.size() > 2 && order[1] == "untrained")
      layers.push_back(From(Named("untrained", LayerTable("tanh")), {"data"}));
    for (const Value& layer : {From(LayerTable("concat"), order), LayerTable("flatten"), Linear(3)})
      layers.push_back(layer);
    for (const bool reference : {false, true}) {
      Model m(layers, 4, images);
      ExpectGradientsAgree(m, *m.Compile(true, DType::kF32, reference), 1e-2F, 2e-3);
    }
  }
}

TEST(Branches, InferenceGivesTheScoresOfTraining) {
  const Model m(kBranches);
  const auto training = m.Compile(true), inference = m.Compile(false);
  EXPECT_EQ(m.Scores(*training, m.batch), m.Scores(*inference, m.batch));
  EXPECT_LT(inference->MemoryBytes(), training->MemoryBytes());
  EXPECT_LT(training->MemoryBytes(), training->UnsharedBytes());
}

TEST(Branches, TheLaterInputAbsorbsAnAddition) {
  const Graph graph(kResidual, kTask);
  const std::vector<LayerInfo> info = graph.Info();
  ASSERT_EQ(info.size(), 6);
  EXPECT_EQ(info[1].type, "batch_norm+relu");
  EXPECT_EQ(info[3].type, "batch_norm+add+relu");
  EXPECT_THAT(info[3].inputs, ElementsAre("linear2", "norm1"));
}

TEST(Branches, NothingIsAbsorbedThatSomebodyElseReads) {
  const Graph graph({Named("a", Linear(4)), LayerTable("relu"),
                     From(LayerTable("add"), {"a", "relu1"}), Linear(3)},
                    kTask);
  EXPECT_EQ(graph.Info()[0].type, "linear");
  EXPECT_EQ(graph.Info()[1].type, "relu");
}

/// A head in the middle, whose loss counts half.
const List kHeads = {Named("low", Linear(5)),
                     LayerTable("tanh"),
                     Named("head", Linear(3)),
                     LayerTable("softmax_cross_entropy", {{"weight", 0.5}}),
                     From(Linear(4), {"tanh1"}),
                     LayerTable("tanh"),
                     Linear(3)};

TEST(Branches, AuxiliaryHeadsCountInTrainingOnly) {
  Model m(kHeads);
  const auto training = m.Compile(true), inference = m.Compile(false);
  ExpectGradientsAgree(m, *training, 1e-2F, 2e-3);
  EXPECT_EQ(m.Scores(*training, m.batch), m.Scores(*inference, m.batch));
  EXPECT_GT(training->Loss(), inference->Loss() + 0.1);
  EXPECT_THAT(inference->Kernels()[2], "");
}

TEST(Branches, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Refusal({Linear(3), From(Linear(3), {"later"})}), HasSubstr("'later'"));
  EXPECT_THAT(Refusal({Linear(4), Linear(3), From(Linear(3), {"linear1"})}),
              HasSubstr("nothing takes the output of layer 'linear2'"));
  EXPECT_THAT(Refusal({Linear(3), LayerTable("add")}), HasSubstr("two or more inputs"));
  EXPECT_THAT(Refusal({Linear(3), Linear(4), From(Linear(3), {"linear1", "linear2"})}),
              HasSubstr("one input, not 2"));
  EXPECT_THAT(Refusal({Linear(3), LayerTable("multiply")}), HasSubstr("two inputs, not 1"));
  EXPECT_THAT(Refusal({Linear(3), From(LayerTable("multiply"), {"linear1", "linear1", "linear1"})}),
              HasSubstr("two inputs, not 3"));
  EXPECT_THAT(Refusal({Linear(3), Linear(4), From(LayerTable("add"), {"linear1", "linear2"})}),
              AllOf(HasSubstr("add1"), HasSubstr("4")));
  EXPECT_THAT(Refusal({Named("data", Linear(3))}), HasSubstr("'data'"));
  EXPECT_THAT(Refusal({Linear(3), LayerTable("softmax_cross_entropy"),
                       From(Linear(3), {"softmax_cross_entropy1"})}),
              HasSubstr("takes the output of the loss"));
  Value bad = Linear(3);
  bad.AsTable()->emplace_back("inputs", 3);
  EXPECT_THAT(Refusal({bad}), HasSubstr("list"));
}

}  // namespace yoke::branches_test
