// Scores: each is summed in the order of the examples.
#include "train/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace yoke {
namespace {

// Points at which the score changes, from the highest down: (score, positives, negatives) so far.
template <typename Take>
void ForEachScore(std::vector<std::pair<float, bool>>& scored, const Take& take) {
  std::ranges::sort(scored, [](const auto& a, const auto& b) { return a.first > b.first; });
  double positives = 0, negatives = 0;
  for (size_t i = 0; i < scored.size(); ++i) {
    (scored[i].second ? positives : negatives) += 1;
    if (i + 1 == scored.size() || scored[i + 1].first != scored[i].first)
      take(double{scored[i].first}, positives, negatives);
  }
}

double PositivesOf(const std::vector<std::pair<float, bool>>& scored) {
  return static_cast<double>(std::ranges::count(scored, true, &std::pair<float, bool>::second));
}

}  // namespace

void Calibration::Add(double confidence, bool right) {
  const int range = std::clamp(static_cast<int>(confidence * kRanges), 0, kRanges - 1);
  ranges_[static_cast<size_t>(range)].confidence += confidence;
  ranges_[static_cast<size_t>(range)].right += right ? 1 : 0;
  ++examples_;
}

double Calibration::Error() const {
  double sum = 0;
  for (const Range& range : ranges_) sum += std::abs(range.confidence - range.right);
  return examples_ > 0 ? sum / examples_ : 0;
}

void LabelDecisions::Add(std::span<const int32_t> truth, std::span<const int32_t> decided) {
  for (const int32_t label : truth) ++counts_[static_cast<size_t>(label)].truth;
  for (const int32_t label : decided) {
    Counts& counts = counts_[static_cast<size_t>(label)];
    ++counts.decided;
    counts.both += std::ranges::find(truth, label) != truth.end() ? 1 : 0;
  }
}

double LabelDecisions::F1(const Counts& counts) {
  const auto all = static_cast<double>(counts.truth + counts.decided);
  return all > 0 ? 2 * static_cast<double>(counts.both) / all : 0;
}

double LabelDecisions::MicroF1() const {
  Counts all;
  for (const Counts& counts : counts_) {
    all.both += counts.both;
    all.decided += counts.decided;
    all.truth += counts.truth;
  }
  return F1(all);
}

double LabelDecisions::MacroF1() const {
  double sum = 0;
  for (const Counts& counts : counts_) sum += F1(counts);
  return counts_.empty() ? 0 : sum / static_cast<double>(counts_.size());
}

std::vector<double> InversePropensities(std::span<const int64_t> counts, int64_t examples) {
  constexpr double kA = 0.55, kB = 1.5;
  const double c = (std::log(static_cast<double>(examples)) - 1) * std::pow(kB + 1, kA);
  std::vector<double> inverse;
  for (const int64_t count : counts)
    inverse.push_back(1 + c * std::pow(static_cast<double>(count) + kB, -kA));
  return inverse;
}

RankingTally::RankingTally(std::vector<int64_t> ks, std::vector<double> inverse)
    : ks_(std::move(ks)), inverse_(std::move(inverse)), sums_(ks_.size()) {}

void RankingTally::Add(std::span<const int32_t> ranked, std::span<const int32_t> truth) {
  ++examples_;
  std::vector<double> best;
  for (const int32_t label : truth) best.push_back(inverse_.empty() ? 1 : Inverse(label));
  std::ranges::sort(best, std::greater<>());
  for (size_t at = 0; at < ks_.size(); ++at) {
    const auto k = static_cast<size_t>(ks_[at]);
    const auto divisor = static_cast<double>(k);
    double gain = 0, best_gain = 0;
    for (size_t i = 0; i < std::min(k, ranked.size()); ++i) {
      if (std::ranges::find(truth, ranked[i]) == truth.end()) continue;
      sums_[at].hits += 1 / divisor;
      gain += 1 / std::log2(static_cast<double>(i) + 2);
      if (!inverse_.empty()) sums_[at].weighted += Inverse(ranked[i]) / divisor;
    }
    for (size_t i = 0; i < std::min(k, best.size()); ++i) {
      best_gain += 1 / std::log2(static_cast<double>(i) + 2);
      sums_[at].best_weighted += best[i] / divisor;
    }
    sums_[at].gain += best_gain > 0 ? gain / best_gain : 0;
  }
}

std::vector<std::pair<std::string, double>> RankingTally::Results() const {
  std::vector<std::pair<std::string, double>> results;
  const double n = std::max(examples_, 1.0);
  for (size_t at = 0; at < ks_.size(); ++at) {
    const Sums& sums = sums_[at];
    results.emplace_back(fmt::format("p_at_{}", ks_[at]), sums.hits / n);
    results.emplace_back(fmt::format("ndcg_at_{}", ks_[at]), sums.gain / n);
    if (inverse_.empty()) continue;
    results.emplace_back(fmt::format("psp_at_{}", ks_[at]),
                         sums.best_weighted > 0 ? sums.weighted / sums.best_weighted : 0);
  }
  return results;
}

std::vector<CurvePoint> CurveOf(std::vector<std::pair<float, bool>> scored, size_t most) {
  const double positives = PositivesOf(scored);
  const double negatives = static_cast<double>(scored.size()) - positives;
  std::vector<CurvePoint> all;
  ForEachScore(scored, [&](double score, double up, double down) {
    all.push_back({.threshold = score,
                   .false_positive_rate = negatives > 0 ? down / negatives : 0,
                   .recall = positives > 0 ? up / positives : 0,
                   .precision = up / (up + down)});
  });
  if (all.size() <= most) return all;
  std::vector<CurvePoint> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

double AveragePrecision(std::vector<std::pair<float, bool>> scored) {
  const double positives = PositivesOf(scored);
  double sum = 0, before = 0;
  ForEachScore(scored, [&](double, double up, double down) {
    sum += (up - before) * up / (up + down);
    before = up;
  });
  return positives > 0 ? sum / positives : 0;
}

}  // namespace yoke
