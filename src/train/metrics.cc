// Metrics: names, and what follows from scores.
#include "train/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/best_scores.h"

namespace yoke {

std::vector<int32_t> TopScores(std::span<const float> scores, int count) {
  BestScores best(count);
  for (size_t j = 0; j < scores.size(); ++j) best.Offer(scores[j], static_cast<int32_t>(j));
  std::vector<int32_t> ids;
  for (const auto& [score, id] : best.Sort()) ids.push_back(id);
  return ids;
}

std::vector<std::string> MetricNames(const DataInfo& data) {
  if (data.regression) return {"loss", "rmse", "mae", "r2"};
  if (data.multi_label) return {"loss", "p_at_1", "p_at_3", "p_at_5"};
  if (data.outputs == 2) return {"loss", "accuracy", "auc"};
  return {"loss", "accuracy"};
}

double MetricOf(const Metrics& metrics, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [other, value] : metrics) {
    if (other == name) return value;
    known.push_back(other);
  }
  throw UserError(UnknownName("metric", name, known));
}

std::string ErrorName(const std::string& metric) { return metric + "_error"; }

bool MoreIsBetter(const std::string& name) {
  return name != "loss" && name != "rmse" && name != "mae";
}

double Recall(std::span<const int32_t> exact, std::span<const int32_t> found, size_t k) {
  exact = exact.first(std::min(k, exact.size()));
  found = found.first(std::min(k, found.size()));
  int64_t wanted = 0, hits = 0;
  for (const int32_t id : exact) {
    if (id < 0) continue;
    ++wanted;
    hits += std::ranges::find(found, id) != found.end();
  }
  return wanted == 0 ? 1 : static_cast<double>(hits) / static_cast<double>(wanted);
}

double AreaUnderCurve(std::vector<std::pair<float, bool>> scored) {
  // The mean over pairs of (positive above negative) + (equal) / 2, counted in order of score.
  for (const auto& [score, positive] : scored)
    if (std::isnan(score)) return std::numeric_limits<double>::quiet_NaN();
  std::sort(scored.begin(), scored.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  double wins = 0;
  double positives = 0;
  double negatives = 0;
  for (size_t begin = 0; begin < scored.size();) {
    double up = 0;
    double down = 0;
    size_t end = begin;
    for (; end < scored.size() && scored[end].first == scored[begin].first; ++end)
      (scored[end].second ? up : down) += 1;
    wins += up * (negatives + down / 2);
    positives += up;
    negatives += down;
    begin = end;
  }
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return wins / (positives * negatives);
}

namespace {

double Ratio(double part, double all) { return all > 0 ? part / all : 0; }

}  // namespace

int64_t Confusion::Of(int64_t truth) const {
  int64_t sum = 0;
  for (int64_t c = 0; c < classes_; ++c) sum += At(truth, c);
  return sum;
}

int64_t Confusion::FoundAs(int64_t found) const {
  int64_t sum = 0;
  for (int64_t c = 0; c < classes_; ++c) sum += At(c, found);
  return sum;
}

double Confusion::Precision(int64_t of) const {
  return Ratio(static_cast<double>(At(of, of)), static_cast<double>(FoundAs(of)));
}

double Confusion::Recall(int64_t of) const {
  return Ratio(static_cast<double>(At(of, of)), static_cast<double>(Of(of)));
}

double Confusion::F1(int64_t of) const {
  return Ratio(2.0 * static_cast<double>(At(of, of)), static_cast<double>(Of(of) + FoundAs(of)));
}

double Confusion::BalancedAccuracy() const {
  double sum = 0, present = 0;
  for (int64_t c = 0; c < classes_; ++c) {
    if (Of(c) == 0) continue;
    sum += Recall(c);
    ++present;
  }
  return Ratio(sum, present);
}

}  // namespace yoke
