// Any bytes as an ONNX file: a model whose layers and weights fit each other, or a UserError.
// guards: src/model/onnx
#include "format.h"
#include "model/onnx/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace yoke;  // NOLINT(google-build-using-namespace)
  constexpr int64_t kSmall = 1 << 20;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    const OnnxModel model = ParseOnnx(text, "file", "/nowhere");
    if (model.outputs > kSmall || model.input.Count() > kSmall) return 0;
    const ModelTask task{.input = {.shape = model.input}, .outputs = model.outputs};
    const Graph graph(model.layers, task);
    if (graph.layout().size() > kSmall) return 0;
    ParamStore params(graph.layout(), Cpu());
    CopyWeights(model, "file", graph.layout(), params.values().Host().data());
    fuzz::Insist(!WriteOnnx({.layers = model.layers,
                             .task = task,
                             .layout = graph.layout(),
                             .values = params.values().Host().data()})
                      .empty());
  } catch (const UserError&) {
    return 0;
  }
  return 0;
}
