// Reads ONNX files for a task, and their weights into a parameter store.
#include "model/onnx/onnx.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "base/check.h"
#include "model/onnx/importer.h"

namespace yoke {

OnnxModel ParseOnnx(std::string_view bytes, const std::string& name, const std::string& folder) {
  const onnx_file::OnnxFile file(bytes, name, folder);
  return onnx_file::Importer(file).Read();
}

OnnxModel ReadOnnx(const std::string& path) {
  const std::string bytes = onnx_file::ReadBytes(path, 0, std::numeric_limits<uint64_t>::max());
  return ParseOnnx(bytes, path, std::filesystem::path(path).parent_path().string());
}

OnnxModel ReadOnnxFor(const std::string& path, const ModelTask& task) {
  OnnxModel model = ReadOnnx(path);
  const Shape &wanted = model.input, &given = task.input.shape;
  Require(wanted.Count() == given.Count() && (wanted.rank() != given.rank() || wanted == given),
          "{} takes {} and an example of the data is {}", path, wanted.Text(), given.Text());
  if (task.multi_label && *model.layers.back().Find("type") == Value("sigmoid"))
    model.layers.pop_back();
  for (Value& layer : model.layers)
    if (task.input.sparse && *layer.Find("inputs") == Value(List{onnx_file::kDataName}) &&
        *layer.Find("type") == Value("linear"))
      layer.Set("type", "sparse_linear");
  return model;
}

/// Converts a row per output to a row per feature, the layout of sparse_linear.
static void CopyTransposed(const std::vector<float>& rows, const Shape& shape, float* values) {
  const int64_t features = shape[0], outputs = shape[1];
  for (int64_t f = 0; f < features; ++f)
    for (int64_t o = 0; o < outputs; ++o)
      values[f * outputs + o] = rows[static_cast<size_t>(o * features + f)];
}

void CopyWeights(const OnnxModel& model, const std::string& name, const ParamLayout& layout,
                 float* values) {
  std::map<std::string, const Slice*> slices;
  for (const Slice& slice : layout.slices()) slices[slice.name] = &slice;
  for (const OnnxWeight& weight : model.weights) {
    const auto found = slices.find(weight.name);
    Require(found != slices.end() &&
                found->second->Count() == static_cast<int64_t>(weight.numbers.size()),
            "{}: its weights '{}' are not those of this model", name, weight.name);
    float* to = values + found->second->offset;
    if (found->second->kind == SliceKind::kRowSparse)
      CopyTransposed(weight.numbers, found->second->shape, to);
    else
      std::ranges::copy(weight.numbers, to);
  }
}

}  // namespace yoke
