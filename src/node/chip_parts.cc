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

int PartsOf(const Options& node) {
  const bool split = node.String("executor") == "split";
  return split && node.Has("parts") ? static_cast<int>(node.Int("parts")) : 1;
}

double SecondsInParts(const PricedCpu& cpu, const Graph& graph, int64_t examples,
                      const ChipParts& chip, GraphPart part) {
  Cost pass = graph.Price(examples, part);
  if (chip.parts == 1) return cpu.seconds(pass, {.examples = examples});
  pass += CostOfParts(graph.layout(), chip.parts);
  pass.memory = Held(graph.layout(), chip);
  const double team = cpu.seconds(pass, {.examples = examples});
  if (cpu.threads < 2) return team;
  const double threads = cpu.threads;
  const auto each = std::max<int64_t>(1, examples / cpu.threads);
  const double apart = cpu.seconds(pass, {.examples = each, .threads = cpu.threads}) / threads;
  const double others = std::max(1.0, threads / chip.parts) - 1;
  return apart + (team - apart) * others / (threads - 1);
}

}  // namespace yoke
