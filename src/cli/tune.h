// Tuning: measures the algorithms for a model's convolutions.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"

namespace yoke {

struct TuneRequest {
  const Graph& graph;
  const List& layers;  ///< The graph's layers, from ModelLayers.
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
};

/// One algorithm for one convolution.
struct TunedAlgorithm {
  std::string algorithm;  ///< "auto"
  double seconds = 0;     ///< Forward and backward of a batch; median of several runs.
  double share = 0;       ///< Fraction of the rate of a large matrix product, measured in between.
};

struct TunedLayer {
  std::string name;
  std::vector<TunedAlgorithm> algorithms;
  size_t best = 0;  ///< Index in algorithms.
};

/// All convolutions of the model, in order. Uses the caller's kernel threads.
std::vector<TunedLayer> TuneConvolutions(const TuneRequest& request);

}  // namespace yoke
