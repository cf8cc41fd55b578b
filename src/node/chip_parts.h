// ChipParts: what the executor `split` costs where it divides one CPU into parts, each with a copy
// of the weights and of the data (You, Buluç, Demmel, SC17: partition of a many-core chip).
#pragma once

#include <functional>

#include "base/cost.h"
#include "base/options.h"
#include "model/graph.h"
#include "node/estimate.h"

namespace yoke {

struct ChipParts {
  int parts = 1;
  double data_bytes = 0;  ///< Of an epoch's examples, in f32: each part has them all.
};

/// Of the [node] options of an executor and the examples of an epoch. Without the key `parts` it is
/// one: how many `split` then runs depends on memory nodes, which no simulated CPU has. Sparse
/// data count as none: their size is known only where they are read.
ChipParts ChipPartsOf(const Options& node, const ModelTask& task, int64_t examples);

/// The prices of a CPU that is predicted or simulated.
using CpuSeconds = std::function<double(const Cost&, const WorkPlace&)>;

/// Seconds of a pass over `examples`, each part by a team of its own (WorkPlace::teams), with the
/// parts' copies of the weights and the sum of their gradients. Each part, also a single one, holds
/// weights, gradients and data (Cost::memory).
double SecondsInParts(const CpuSeconds& seconds, const Graph& graph, int64_t examples,
                      const ChipParts& chip, GraphPart part = GraphPart::kWhole);
/// The same of a batch as it is predicted, on the first device of the request.
double SecondsInParts(const Options& node, const EstimateRequest& request);

}  // namespace yoke
