// Reads ONNX files for a task, and their weights into a parameter store.
#include "model/onnx/onnx.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/check.h"
#include "kernels/convert.h"
#include "model/onnx/importer.h"
#include "model/output_layers.h"

namespace yoke {

OnnxModel ParseOnnx(std::string_view bytes, const std::string& name, const std::string& folder) {
  const onnx_file::OnnxFile file(bytes, name, folder);
  return onnx_file::Importer(file).Read();
}

OnnxModel ReadOnnx(const std::string& path) {
  return ParseOnnx(onnx_file::ReadSmallFile(path), path,
                   std::filesystem::path(path).parent_path().string());
}

std::map<std::string, std::string> ReadOnnxMetadata(const std::string& path) {
  return onnx_file::ReadMetadata(path);
}

/// The layer that computes the loss as the file has it; "" if the task decides.
static std::string LossFor(const OnnxModel& model, const ModelTask& task) {
  const auto noted = LossOf(Table{{"type", model.loss}});
  if (noted && IsRegression(*noted) == task.regression) return model.loss;
  return task.multi_label && model.softmax_omitted ? "softmax_cross_entropy" : "";
}

/// Makes the output layer the hashed one.
static void Hash(Value& layer, const Table& options, const std::string& path) {
  Require(*layer.Find("type") == Value("linear"),
          "model.output = \"lsh\": the last layer of {} is {}; expected linear", path,
          *layer.Find("type")->AsString());
  layer.Set("type", "lsh_linear");
  for (const auto& [key, value] : options) {
    Require(key != "outputs",
            "model.lsh.outputs: the number of outputs follows from the file: leave it out");
    layer.Set(key, value);
  }
}

/// Sizes the output layers and forgets their weights.
static void DrawOutputsAnew(OnnxModel& model, int64_t outputs) {
  const std::vector<std::string> names = OutputLayerNames(model.layers);
  SizeOutputs(model.layers, outputs);
  std::erase_if(model.weights, [&](const OnnxWeight& weight) { return IsOf(weight.name, names); });
}

OnnxModel ReadOnnxFor(const std::string& path, const ModelTask& task, const OnnxStart& start) {
  OnnxModel model = ReadOnnx(path);
  const Shape &wanted = model.input, &given = task.input.shape;
  Require(wanted.Count() == given.Count() && (wanted.rank() != given.rank() || wanted == given),
          "{} takes {} and an example of the data is {}", path, wanted.Text(), given.Text());
  if (task.multi_label && LossFor(model, task).empty() &&
      *model.layers.back().Find("type") == Value("sigmoid"))
    model.layers.pop_back();
  if (start.outputs > 0) DrawOutputsAnew(model, start.outputs);
  if (start.hashed) Hash(model.layers.back(), *start.hashed, path);
  for (Value& layer : model.layers)
    if (task.input.sparse && *layer.Find("inputs") == Value(List{onnx_file::kDataName}) &&
        *layer.Find("type") == Value("linear"))
      layer.Set("type", "sparse_linear");
  if (const std::string loss = LossFor(model, task); !loss.empty())
    model.layers.emplace_back(Table{{"type", loss}});
  return model;
}

/// The weights that have a row per feature here and a row per output in a file.
static std::set<std::string> RowsOfFeatures(const OnnxModel& model) {
  std::set<std::string> names;
  for (const Value& layer : model.layers)
    if (*layer.Find("type") == Value("sparse_linear"))
      names.insert(*layer.Find("name")->AsString() + ".weight");
  return names;
}

/// A row per feature out of a row per output.
static std::vector<float> Transposed(const std::vector<float>& rows, const Shape& shape) {
  const int64_t features = shape[0], outputs = shape[1];
  std::vector<float> values(rows.size());
  for (int64_t f = 0; f < features; ++f)
    for (int64_t o = 0; o < outputs; ++o)
      values[static_cast<size_t>(f * outputs + o)] = rows[static_cast<size_t>(o * features + f)];
  return values;
}

static void Fill(const Slice& slice, const std::vector<float>& from, float* values) {
  Convert({.shape = slice.shape, .type = DType::kF32, .data = from.data()},
          {.shape = slice.shape, .type = slice.type, .data = values + slice.offset});
}

void CopyWeights(const OnnxModel& model, const std::string& name, const ParamLayout& layout,
                 float* values) {
  const std::set<std::string> transposed = RowsOfFeatures(model);
  std::map<std::string, const Slice*> slices;
  for (const Slice& slice : layout.slices()) slices[slice.name] = &slice;
  for (const OnnxWeight& weight : model.weights) {
    const auto found = slices.find(weight.name);
    Require(found != slices.end() &&
                found->second->Count() == static_cast<int64_t>(weight.values.size()),
            "{}: its weights '{}' are not those of this model", name, weight.name);
    const Slice& slice = *found->second;
    if (transposed.contains(weight.name))
      Fill(slice, Transposed(weight.values, slice.shape), values);
    else
      Fill(slice, weight.values, values);
  }
}

}  // namespace yoke
