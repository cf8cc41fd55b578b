// TargetSums: errors are summed in standard deviations, and told in the targets' units.
#include "train/target_sums.h"

#include <algorithm>
#include <cmath>

#include "data/preprocess.h"

namespace yoke {

void AddTargets(std::span<const float> scores, std::span<const float> targets, int64_t outputs,
                std::vector<TargetSums>& sums) {
  const auto count = static_cast<size_t>(outputs);
  sums.resize(count);
  for (size_t i = 0; i < scores.size(); ++i) {
    TargetSums& of = sums[i % count];
    const double error = double{scores[i]} - targets[i];
    of.errors += std::abs(error);
    of.squares += error * error;
    of.target += targets[i];
  }
}

void AddTargets(const std::vector<TargetSums>& more, std::vector<TargetSums>& sums) {
  sums.resize(std::max(sums.size(), more.size()));
  for (size_t k = 0; k < more.size(); ++k) {
    sums[k].errors += more[k].errors;
    sums[k].squares += more[k].squares;
    sums[k].target += more[k].target;
  }
}

Metrics MetricsOf(const std::vector<TargetSums>& sums, double loss, const DataInfo& data,
                  int64_t examples) {
  const auto outputs = static_cast<double>(data.outputs), n = static_cast<double>(examples);
  double squares = 0, errors = 0, r2 = 0;
  for (size_t k = 0; k < sums.size(); ++k) {
    const TargetSums& of = sums[k];
    const double unit = ByChannel(data.target_deviation, k, 1);
    const double around = of.target.squares - of.target.values * of.target.values / n;
    squares += of.squares * unit * unit / (n * outputs);
    errors += of.errors * unit / (n * outputs);
    r2 += (around > 0 ? 1 - of.squares / around : 0) / outputs;
  }
  return {{"loss", loss / n}, {"rmse", std::sqrt(squares)}, {"mae", errors}, {"r2", r2}};
}

}  // namespace yoke
