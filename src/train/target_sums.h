// TargetSums: what the metrics of a regression are computed from, by target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/reader.h"
#include "train/metrics.h"

namespace yoke {

/// A sum over some examples, and that of the squares.
struct Sum {
  double values = 0, squares = 0;

  Sum& operator+=(double value) {
    values += value;
    squares += value * value;
    return *this;
  }
  Sum& operator+=(const Sum& more) {
    values += more.values;
    squares += more.squares;
    return *this;
  }
};

/// Of one target, in its standard deviations.
struct TargetSums {
  double errors = 0, squares = 0;  ///< Absolute errors, and squared ones.
  Sum target;
};

/// Adds examples with so many targets each; `scores` and `targets` by example, then target.
void AddTargets(std::span<const float> scores, std::span<const float> targets, int64_t outputs,
                std::vector<TargetSums>& sums);
/// Adds those of other examples.
void AddTargets(const std::vector<TargetSums>& more, std::vector<TargetSums>& sums);

/// loss, rmse, mae and r2 of so many examples, whose losses have the sum `loss`. A coefficient of
/// determination is 0 for a target that does not vary.
Metrics MetricsOf(const std::vector<TargetSums>& sums, double loss, const DataInfo& data,
                  int64_t examples);

}  // namespace yoke
