// ChipParts: a pass by several teams, and what their copies cost.
#include "node/chip_parts.h"

namespace yoke {
namespace {

/// Each part copies the weights, the sum reads each part's gradient, and is written.
Cost CostOfParts(const ParamLayout& layout, int parts) {
  const double copies = 2.0 * parts * static_cast<double>(layout.size());
  const double sum = (parts + 1.0) * static_cast<double>(layout.dense_size());
  return {.operations = parts * static_cast<double>(layout.dense_size()),
          .bytes = 4 * (copies + sum)};
}

double Held(const ParamLayout& layout, const ChipParts& chip) {
  const double own = 4.0 * static_cast<double>(layout.size() + layout.dense_size());
  return chip.parts * (own + chip.data_bytes);
}

}  // namespace

ChipParts ChipPartsOf(const Options& node, const ModelTask& task, int64_t examples) {
  const Value* parts = node.Resolved().Find("parts");
  const int64_t elements = task.input.sparse ? 0 : task.input.shape.Count() * examples;
  return {.parts = parts ? static_cast<int>(*parts->AsInt()) : 1,
          .data_bytes = 4.0 * static_cast<double>(elements)};
}

double SecondsInParts(const CpuSeconds& seconds, const Graph& graph, int64_t examples,
                      const ChipParts& chip, GraphPart part) {
  Cost pass = graph.Price(examples, part);
  pass.memory = Held(graph.layout(), chip);
  const WorkPlace place = {.examples = examples, .teams = chip.parts};
  if (chip.parts == 1) return seconds(pass, place);
  Cost copies = CostOfParts(graph.layout(), chip.parts);
  copies.memory = pass.memory;
  return seconds(pass, place) + seconds(copies, place);
}

double SecondsInParts(const Options& node, const EstimateRequest& request) {
  const auto seconds = [&](const Cost& cost, WorkPlace place) {
    place.device = request.devices[0];
    return request.Seconds(cost, place);
  };
  return SecondsInParts(seconds, request.graph, request.batch,
                        ChipPartsOf(node, request.graph.task(), request.epoch));
}

}  // namespace yoke
