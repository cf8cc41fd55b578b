// Convolutions: measures the algorithms for those of a model.
#pragma once

#include <string>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke {

/// One algorithm for one convolution.
struct TunedAlgorithm {
  std::string algorithm;  ///< "auto"
  double seconds = 0;     ///< Forward and backward of a batch; median of several runs.
  double share = 0;       ///< Fraction of the rate of a large matrix product, measured in between.
};

struct TunedLayer {
  std::string name;
  std::string given = "auto";  ///< The job's algorithm for it.
  std::vector<TunedAlgorithm> algorithms;
  size_t best = 0;  ///< Index in algorithms.
};

/// All convolutions of the job's model, in order, with its batch and precision. Uses the caller's
/// kernel threads.
std::vector<TunedLayer> TuneConvolutions(const Job& job, const Reader& data);

/// [model] algorithms with the best ones.
Table AlgorithmsOf(const std::vector<TunedLayer>& layers);

}  // namespace yoke
