// Operators that become products with a weight matrix.
#include <algorithm>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

/// Transposes [rows, columns].
std::vector<float> Transposed(const std::vector<float>& matrix, int64_t rows, int64_t columns) {
  std::vector<float> turned(matrix.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      turned[static_cast<size_t>(c * rows + r)] = matrix[static_cast<size_t>(r * columns + c)];
  return turned;
}

void Scale(std::vector<float>& values, double factor) {
  if (factor == 1) return;
  for (float& number : values) number = static_cast<float>(number * factor);
}

/// A bias of `outputs` elements, or one for all.
std::vector<float> ReadBias(Importer& importer, const Node& node, int input, int64_t outputs) {
  Constant bias = importer.Values(node, input);
  const bool row = std::all_of(bias.dims.begin(), bias.dims.end() - (bias.dims.empty() ? 0 : 1),
                               [](int64_t dim) { return dim == 1; });
  node.Need(!bias.integer && row && bias.dims.size() <= 2 &&
                (bias.Count() == outputs || bias.Count() == 1),
            "what it adds is not a number for each of its {} outputs", outputs);
  if (bias.Count() == 1) bias.floats.assign(static_cast<size_t>(outputs), bias.floats[0]);
  return std::move(bias.floats);
}

/// The weights of a product, one row per output.
struct Matrix {
  std::vector<float> values;
  int64_t outputs = 0;
};

Matrix ReadMatrix(Importer& importer, const Node& node, int64_t inputs, bool row_an_output) {
  Constant weight = importer.Values(node, 1);
  node.Need(weight.dims.size() == 2 && !weight.integer,
            "its weights have {} axes; expected 2 (a product with a constant matrix)",
            weight.dims.size());
  const int64_t outputs = weight.dims[row_an_output ? 0 : 1];
  node.Need(weight.dims[row_an_output ? 1 : 0] == inputs && outputs >= 1,
            "its weights are {}x{}; its input has {} numbers", weight.dims[0], weight.dims[1],
            inputs);
  return {.values =
              row_an_output ? std::move(weight.floats) : Transposed(weight.floats, inputs, outputs),
          .outputs = outputs};
}

NewLayer LinearLayer(const Datum& input, Matrix matrix, std::vector<float> bias,
                     const std::string& named_after) {
  NewLayer layer{.type = "linear",
                 .options = {{"outputs", matrix.outputs}},
                 .inputs = {input},
                 .named_after = named_after};
  if (bias.empty())
    layer.options.emplace_back("bias", false);
  else
    layer.weights.emplace_back("bias", std::move(bias));
  layer.weights.emplace_back("weight", std::move(matrix.values));
  return layer;
}

void Gemm(Importer& importer, const Node& node) {
  const Datum& input = importer.Row(node, 0);
  node.Need(node.Int("transA", 0) == 0, "it transposes its input (transA)");
  Matrix matrix =
      ReadMatrix(importer, node, importer.ShapeOf(input).Count(), node.Int("transB", 0) != 0);
  Scale(matrix.values, node.Float("alpha", 1));
  std::vector<float> bias;
  if (!node.input(2).empty()) {
    bias = ReadBias(importer, node, 2, matrix.outputs);
    Scale(bias, node.Float("beta", 1));
  }
  importer.AddLayer(node, LinearLayer(input, std::move(matrix), std::move(bias), node.input(1)));
}

/// A following addition of a constant becomes the bias.
void MatMul(Importer& importer, const Node& node) {
  const Datum input = importer.Row(node, 0);
  Matrix matrix = ReadMatrix(importer, node, importer.ShapeOf(input).Count(), false);
  const std::optional<Node> reader = importer.OnlyReader(node.output());
  const int other = reader && reader->input(0) == node.output() ? 1 : 0;
  if (!reader || reader->type() != "Add" || !importer.IsConstant(reader->input(other)))
    return importer.AddLayer(node, LinearLayer(input, std::move(matrix), {}, node.input(1)));
  std::vector<float> bias = ReadBias(importer, *reader, other, matrix.outputs);
  importer.AddLayer(*reader, LinearLayer(input, std::move(matrix), std::move(bias), node.input(1)));
  importer.Give(node.output(), importer.Of(*reader, reader->output()));
}

}  // namespace

Operators ProductOperators() { return {{"Gemm", Gemm}, {"MatMul", MatMul}}; }

}  // namespace yoke::onnx_file
