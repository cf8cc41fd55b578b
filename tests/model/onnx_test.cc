// ONNX files without ONNX's own programs: models of the zoo written and read again, what is refused
// and how it is said. (onnx_torch_slow_test.py and onnx_operators_test.py compare numbers.)
#include "model/onnx/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "kernels/convert.h"
#include "params/store.h"

namespace yoke::onnx_test {

using testing::HasSubstr;
using testing::StartsWith;

Value Layer(const char* type, Table options = {}) {
  options.insert(options.begin(), {"type", type});
  return Value(std::move(options));
}

/// A model with drawn weights, as bytes of an ONNX file.
std::string Written(const List& layers, const ModelTask& task) {
  const Graph graph(layers, task);
  ParamStore params(graph.layout(), Cpu());
  Initialize(params, 3);
  return WriteOnnx({.layers = layers,
                    .task = task,
                    .layout = graph.layout(),
                    .values = params.values().Host().data()});
}

std::string WrittenAgain(const std::string& bytes) {
  const OnnxModel model = ParseOnnx(bytes, "m.onnx", "");
  const ModelTask task{.input = {.shape = model.input}, .outputs = model.outputs};
  const Graph graph(model.layers, task);
  ParamStore params(graph.layout(), Cpu());
  CopyWeights(model, "m.onnx", graph.layout(), params.values().Host().data());
  return WriteOnnx({.layers = model.layers,
                    .task = task,
                    .layout = graph.layout(),
                    .values = params.values().Host().data()});
}

std::string Refusal(const std::string& bytes) {
  try {
    ParseOnnx(bytes, "m.onnx", "");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const ModelTask kRow = {.input = {.shape = {6}}, .outputs = 3};
const ModelTask kImage = {.input = {.shape = {2, 8, 8}}, .outputs = 3};

List Small() {
  return {Layer("linear", {{"outputs", 4}}), Layer("relu"), Layer("linear", {{"outputs", 3}})};
}

/// `bytes` with one text in place of another that is as long.
std::string Replaced(std::string bytes, const std::string& from, const std::string& to) {
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(from.size(), to.size());
  return bytes.replace(at, from.size(), to);
}

/// Whether a layer's page says that it has no counterpart in ONNX.
bool SaysItHasNoOnnx(const std::string& layer) {
  std::ostringstream page;
  page << std::ifstream("docs/layers/" + layer + ".md").rdbuf();
  return page.str().find("no counterpart in ONNX") != std::string::npos;
}

TEST(Onnx, EveryLayerIsWrittenAndReadAgainOrSaysThatItIsNot) {
  for (const LayerEntry& entry : layers()) {
    if (entry.loss || entry.name == "sparse_linear" || entry.name == "lsh_linear") continue;
    SCOPED_TRACE(entry.name);
    Table options;
    for (const OptionSpec& option : entry.options)
      if (option.required)
        options.emplace_back(option.name, option.name == "kernel"    ? Value(List{2})
                                          : option.name == "outputs" ? Value(4)
                                                                     : Value(2));
    List list = {Layer("relu", {{"name", "first"}})};
    if (entry.least_inputs > 1) options.emplace_back("inputs", List{"first", "data"});
    list.push_back(Layer(entry.name.c_str(), options));
    list.push_back(Layer("linear", {{"outputs", 3}}));
    if (SaysItHasNoOnnx(entry.name)) {
      EXPECT_THROW(Written(list, kImage), UserError);
      continue;
    }
    const std::string bytes = Written(list, kImage);
    EXPECT_EQ(WrittenAgain(WrittenAgain(bytes)), WrittenAgain(bytes));
  }
}

TEST(Onnx, NormalizationWithoutWeightsIsWrittenWithSuchAsChangeNothing) {
  const List list = {Layer("batch_norm", {{"affine", false}}), Layer("linear", {{"outputs", 3}})};
  const OnnxModel model = ParseOnnx(Written(list, kImage), "m.onnx", "");
  EXPECT_EQ(model.weights[0].name, "batch_norm1.weight");
  EXPECT_EQ(model.weights[0].values, std::vector<float>(2, 1));
  EXPECT_EQ(model.weights[1].values, std::vector<float>(2, 0));
}

TEST(Onnx, NormalizedChannelsAreWrittenBetweenTransposes) {
  for (const bool affine : {true, false}) {
    const List list = {Layer("relu"),
                       Layer("layer_norm", {{"over", "channels"}, {"affine", affine}}),
                       Layer("linear", {{"outputs", 3}})};
    const std::string bytes = Written(list, kImage);
    const OnnxModel model = ParseOnnx(bytes, "m.onnx", "");
    EXPECT_EQ(*model.layers[1].Find("type"), Value("layer_norm"));
    EXPECT_EQ(*model.layers[1].Find("over"), Value("channels"));
    EXPECT_EQ(model.weights[0].values, std::vector<float>(2, 1));
    EXPECT_EQ(WrittenAgain(WrittenAgain(bytes)), WrittenAgain(bytes));
  }
}

TEST(Onnx, SparseAndHashedLayersBecomeProductsOfDenseRows) {
  const ModelTask task = {
      .input = {.shape = {20}, .sparse = true}, .outputs = 40, .multi_label = true};
  const List list = {Layer("sparse_linear", {{"outputs", 4}}), Layer("relu"),
                     Layer("lsh_linear", {{"outputs", 40}})};
  const OnnxModel model = ParseOnnx(Written(list, task), "m.onnx", "");
  EXPECT_EQ(model.input, Shape{20});
  EXPECT_EQ(model.outputs, 40);
  EXPECT_EQ(*model.layers[0].Find("type"), Value("linear"));
  EXPECT_EQ(*model.layers[2].Find("type"), Value("linear"));
}

OnnxModel ModelFor(const std::string& bytes, const ModelTask& task, const OnnxStart& start = {}) {
  const std::string path = testing::TempDir() + "/onnx_test_task.onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  return ReadOnnxFor(path, task, start);
}

/// The types of the layers that a file becomes for a task.
std::vector<std::string> TypesFor(const std::string& bytes, const ModelTask& task,
                                  const OnnxStart& start = {}) {
  std::vector<std::string> types;
  for (const Value& layer : ModelFor(bytes, task, start).layers)
    types.push_back(*layer.Find("type")->AsString());
  return types;
}

TEST(Onnx, TheLossTravelsInTheMetadata) {
  const ModelTask sets = {.input = {.shape = {6}}, .outputs = 3, .multi_label = true};
  for (const char* loss : {"softmax_cross_entropy", "sigmoid_cross_entropy"}) {
    const std::string bytes =
        Written({Layer("linear", {{"outputs", 3}}), Layer("sigmoid"), Layer(loss)}, sets);
    EXPECT_THAT(TypesFor(bytes, sets), testing::ElementsAre("linear", "sigmoid", loss));
    EXPECT_THAT(bytes, HasSubstr(loss == std::string("softmax_cross_entropy")
                                     ? "one a label; softmax gives probabilities"
                                     : "one a label; sigmoid gives probabilities"));
  }
  EXPECT_THAT(Written({Layer("linear", {{"outputs", 3}}), Layer("sigmoid_cross_entropy")}, kRow),
              HasSubstr("one a class; sigmoid gives probabilities"));
}

/// A file ends in a softmax, which only the loss can keep for sets of labels too.
TEST(Onnx, ASoftmaxAtTheEndStaysTheLossOfLabelSets) {
  const ModelTask sets = {.input = {.shape = {6}}, .outputs = 3, .multi_label = true};
  const std::string bytes = Replaced(
      Written({Layer("linear", {{"outputs", 3}}), Layer("sigmoid")}, kRow), "Sigmoid", "Softmax");
  const std::string foreign = Replaced(bytes, "softmax_cross_entropy", "softmax_cross_entropi");
  EXPECT_THAT(TypesFor(foreign, sets), testing::ElementsAre("linear", "softmax_cross_entropy"));
  EXPECT_THAT(TypesFor(foreign, kRow), testing::ElementsAre("linear"));
}

TEST(Onnx, TheHashedLayerIsRememberedAndCanBeHadAgain) {
  const List hashed = {Layer("linear", {{"outputs", 4}}), Layer("lsh_linear", {{"outputs", 3}})};
  const std::string bytes = Written(hashed, kRow);
  EXPECT_TRUE(ParseOnnx(bytes, "m.onnx", "").hashed);
  EXPECT_FALSE(ParseOnnx(Written(Small(), kRow), "m.onnx", "").hashed);
  EXPECT_THAT(TypesFor(bytes, kRow, {.hashed = Table{{"tables", 7}}}),
              testing::ElementsAre("linear", "lsh_linear", "softmax_cross_entropy"));
}

/// The file's weights of a first and a last layer as `rows` stores them: a row per feature, and a
/// row per output.
TEST(Onnx, SparseAndHashedLayersTakeAFilesWeights) {
  const ModelTask task = {.input = {.shape = {6}, .sparse = true}, .outputs = 3};
  const OnnxModel model = ModelFor(Written(Small(), kRow), task, {.hashed = Table{{"tables", 7}}});
  for (const DType rows : {DType::kF32, DType::kBf16}) {
    const Graph graph(model.layers, task, rows);
    ParamStore params(graph.layout(), Cpu());
    float* values = params.values().Host().data();
    CopyWeights(model, "m.onnx", graph.layout(), values);
    for (const auto& [name, wanted] : model.weights) {
      const Slice& slice = *std::ranges::find(graph.layout().slices(), name, &Slice::name);
      const bool by_feature = slice.shape == Shape{6, 4};
      std::vector<float> copy;
      const float* found =
          InF32({.shape = slice.shape, .type = slice.type, .data = values + slice.offset}, 0,
                slice.Count(), copy);
      for (int64_t i = 0; i < slice.Count(); ++i)
        EXPECT_NEAR(found[i], wanted[by_feature ? i % 4 * 6 + i / 4 : i],
                    slice.type == DType::kF32 ? 0 : 0.005)
            << name << " " << i;
    }
  }
}

TEST(Onnx, CeilModeIsWrittenOnlyWhereItAddsAWindow) {
  const ModelTask task = {.input = {.shape = {1, 6, 5}}, .outputs = 2};
  const auto pool = [&](Table options) {
    return Written({Layer("max_pool", std::move(options)), Layer("flatten"),
                    Layer("linear", {{"outputs", 2}})},
                   task);
  };
  const auto rounds_up = [](const std::string& bytes) {
    const OnnxModel model = ParseOnnx(bytes, "m.onnx", "");
    return *model.layers[0].Find("ceil_mode") == Value(true);
  };
  EXPECT_FALSE(
      rounds_up(pool({{"kernel", List{2, 2}}, {"stride", List{2, 3}}, {"ceil_mode", true}})));
  EXPECT_TRUE(rounds_up(pool({{"kernel", 2}, {"stride", 2}, {"ceil_mode", true}})));
  // The last window would start past the image, and is left out.
  EXPECT_FALSE(rounds_up(pool({{"kernel", 1}, {"stride", List{5, 4}}, {"ceil_mode", true}})));
}

TEST(Onnx, LeavesOutAuxiliaryHeads) {
  const List list = {
      Layer("linear", {{"name", "trunk"}, {"outputs", 5}}),
      Layer("linear", {{"name", "side"}, {"outputs", 3}}), Layer("softmax_cross_entropy"),
      Layer("linear", {{"name", "main"}, {"outputs", 3}, {"inputs", List{"trunk"}}})};
  const std::string bytes = Written(list, kRow);
  EXPECT_EQ(bytes.find("side"), std::string::npos);
  EXPECT_EQ(ParseOnnx(bytes, "m.onnx", "").layers.size(), 2U);
}

TEST(Onnx, NamesAnUnknownOperatorAndTheNearest) {
  EXPECT_THAT(Refusal(Replaced(Written(Small(), kRow), "Relu", "Rely")),
              AllOf(StartsWith("m.onnx: node 'relu1' (Rely): unknown operator 'Rely'; did you mean "
                               "'Relu'?"),
                    HasSubstr("known: Add, ")));
}

TEST(Onnx, WeightsThatAreNoNumbersAreRefused) {
  const Graph graph(Small(), kRow);
  ParamStore params(graph.layout(), Cpu());
  params.values().Host()[3] = std::nanf("");
  const List layers = Small();
  EXPECT_EQ(Refusal(WriteOnnx({.layers = layers,
                               .task = kRow,
                               .layout = graph.layout(),
                               .values = params.values().Host().data()})),
            "m.onnx: node 'linear1' (Gemm): its weight holds nan: expected finite numbers");
}

TEST(Onnx, SaysWhatAFileLacks) {
  EXPECT_EQ(Refusal(""), "m.onnx is not an ONNX file: it has no graph");
  EXPECT_EQ(Refusal("[model]\nname = \"mlp\"\n"), "m.onnx is not an ONNX file, or it is truncated");
  const std::string bytes = Written(Small(), kRow);
  EXPECT_THAT(Refusal(Replaced(bytes, "linear2.bias", "linear2.biaz")),
              "m.onnx: node 'linear2' (Gemm): no earlier node produces its input 'linear2.biaz'");
  EXPECT_THAT(Refusal(Replaced(bytes, "scores", "stores")), HasSubstr("no layer computes"));
}

TEST(Onnx, RefusesEveryTruncation) {
  const std::string bytes = Written(Small(), kRow);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size), refusal = Refusal(part);
    if (refusal.empty())  // it ends between two keys of the metadata, behind the network
      EXPECT_EQ(WrittenAgain(part), bytes) << size;
    else
      EXPECT_THAT(refusal, StartsWith("m.onnx")) << size;
  }
}

TEST(Onnx, SurvivesEveryChangedByte) {
  const std::string bytes = Written(Small(), kRow);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const char change : {'\x01', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ change);
      Refusal(changed);  // anything but a UserError fails the test
    }
}

TEST(Onnx, WeightsMustBeThoseOfTheModel) {
  const OnnxModel model = ParseOnnx(Written(Small(), kRow), "m.onnx", "");
  const Graph other({Layer("linear", {{"outputs", 3}})}, kRow);
  ParamStore params(other.layout(), Cpu());
  EXPECT_THROW(CopyWeights(model, "m.onnx", other.layout(), params.values().Host().data()),
               UserError);
}

}  // namespace yoke::onnx_test
