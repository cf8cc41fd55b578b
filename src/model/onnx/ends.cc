// Input and output of a file's graph: one input with a batch axis, one output.
#include <algorithm>

#include "model/onnx/importer.h"
#include "tensor/sizes.h"

namespace yoke::onnx_file {
namespace {

std::set<std::string> InitializerNames(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  return names;
}

void ReadShape(const OnnxFile& file, const onnx::ValueInfoProto& input, Ends& ends) {
  const auto& tensor = input.type().tensor_type();
  Require(IsFloat(tensor.elem_type()), "{}: the input '{}' is no tensor of floats", file.name(),
          input.name());
  const auto& dims = tensor.shape().dim();
  Require(dims.size() >= 2 && dims.size() <= Shape::kMaxRank,
          "{}: the input '{}' has {} axes; expected the batch and those of an example", file.name(),
          input.name(), dims.size());
  std::vector<int64_t> axes;
  for (int i = 1; i < dims.size(); ++i) {
    const int64_t length = dims[i].dim_value();
    Require(length >= 1 && length <= kLongestAxis,
            "{}: axis {} of the input '{}' has no fixed length; only the batch axis, the first, "
            "may be free",
            file.name(), i, input.name());
    axes.push_back(length);
  }
  try {
    ends.shape = Shape(axes);
  } catch (const TooLarge& error) {
    throw UserError(fmt::format("{}: the input '{}': {}", file.name(), input.name(), error.what()));
  }
  ends.fixed_batch = std::max<int64_t>(0, dims[0].dim_value());
}

}  // namespace

Ends ReadEnds(const OnnxFile& file) {
  const std::set<std::string> initializers = InitializerNames(file.graph());
  Ends ends;
  int inputs = 0;
  for (const auto& input : file.graph().input()) {
    if (initializers.contains(input.name())) continue;
    Require(++inputs == 1, "{}: the graph takes several inputs ('{}' and '{}'); expected one",
            file.name(), ends.input, input.name());
    ends.input = input.name();
    ReadShape(file, input, ends);
  }
  Require(inputs == 1, "{}: the graph takes no input", file.name());
  Require(file.graph().output_size() == 1,
          "{}: the graph gives {} outputs; expected one, the scores", file.name(),
          file.graph().output_size());
  ends.output = file.graph().output(0).name();
  return ends;
}

}  // namespace yoke::onnx_file
