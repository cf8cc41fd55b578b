// ChipParts: between threads that work apart and one team of all.
#include "node/chip_parts.h"

#include <algorithm>

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

double SecondsInParts(const PricedCpu& cpu, const Graph& graph, int64_t examples,
                      const ChipParts& chip, GraphPart part) {
  Cost pass = graph.Price(examples, part);
  pass.memory = Held(graph.layout(), chip);
  if (chip.parts == 1) return cpu.seconds(pass, {.examples = examples});
  pass += CostOfParts(graph.layout(), chip.parts);
  const double team = cpu.seconds(pass, {.examples = examples});
  if (cpu.threads < 2) return team;
  const double threads = cpu.threads;
  const auto each = std::max<int64_t>(1, examples / cpu.threads);
  const double apart = cpu.seconds(pass, {.examples = each, .threads = cpu.threads}) / threads;
  const double others = std::max(1.0, threads / chip.parts) - 1;
  return apart + (team - apart) * others / (threads - 1);
}

double SecondsInParts(const Options& node, const EstimateRequest& request) {
  const auto seconds = [&](const Cost& cost, WorkPlace place) {
    place.device = request.devices[0];
    return request.Seconds(cost, place);
  };
  return SecondsInParts({.seconds = seconds, .threads = request.Workers()}, request.graph,
                        request.batch, ChipPartsOf(node, request.graph.task(), request.epoch));
}

}  // namespace yoke
