// Tuning: measures the ways in which a model's convolutions can be computed.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"

namespace yoke {

struct TuneRequest {
  const Graph& graph;
  const List& layers;  ///< Of the graph, as ModelLayers gives them.
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
};

/// One way of one convolution.
struct TunedWay {
  std::string way;     ///< "auto"
  double seconds = 0;  ///< Forward and backward of a batch; the median of several.
  double share = 0;    ///< Of the rate of a large matrix product, measured in between.
};

struct TunedLayer {
  std::string name;
  std::vector<TunedWay> ways;
  size_t best = 0;  ///< In ways.
};

/// All convolutions of the model, in order. Uses the caller's kernel threads.
std::vector<TunedLayer> TuneConvolutions(const TuneRequest& request);

}  // namespace yoke
