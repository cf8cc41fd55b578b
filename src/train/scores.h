// Scores: what the probabilities of a model tell of it beyond its accuracy: calibration, decisions
// at a threshold, rankings of labels, curves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace yoke {

/// How far confidence is from accuracy: the mean over 15 equal ranges of confidence of their
/// difference, weighted by examples (the expected calibration error of Guo et al. 2017).
class Calibration {
 public:
  /// The best class's probability, and whether the example is of it.
  void Add(double confidence, bool right);
  double Error() const;  ///< 0 without examples.

 private:
  static constexpr int kRanges = 15;
  struct Range {
    double confidence = 0, right = 0;
  };
  std::vector<Range> ranges_ = std::vector<Range>(kRanges);
  double examples_ = 0;
};

/// Sets of labels that a model decides for, compared with those that examples have.
class LabelDecisions {
 public:
  explicit LabelDecisions(int64_t labels) : counts_(static_cast<size_t>(labels)) {}

  void Add(std::span<const int32_t> truth, std::span<const int32_t> decided);
  /// Over all decisions together; 0 if there is none.
  double MicroF1() const;
  /// The mean over the labels, where one without examples and decisions counts 0, as in
  /// scikit-learn.
  double MacroF1() const;

 private:
  struct Counts {
    int64_t both = 0, decided = 0, truth = 0;
  };
  static double F1(const Counts& counts);
  std::vector<Counts> counts_;
};

/// By label: 1 / the probability that an example of it has it in the data, 1 + C (n + B)^-A, with A
/// 0.55, B 1.5 and C = (log examples - 1) (B + 1)^A of Jain et al. 2016. `counts`: examples of each
/// label in the training data.
std::vector<double> InversePropensities(std::span<const int64_t> counts, int64_t examples);

/// P@k and nDCG@k of rankings of labels, and PSP@k, which is divided by that of the best ranking.
class RankingTally {
 public:
  /// `inverse`: InversePropensities; empty: no PSP.
  RankingTally(std::vector<int64_t> ks, std::vector<double> inverse);

  /// `ranked`: the best labels, best first; fewer than k count as wrong ones.
  void Add(std::span<const int32_t> ranked, std::span<const int32_t> truth);
  /// "p_at_3", "ndcg_at_3", "psp_at_3", ... and their values.
  std::vector<std::pair<std::string, double>> Results() const;

 private:
  struct Sums {
    double hits = 0, gain = 0, weighted = 0, best_weighted = 0;
  };
  double Inverse(int32_t label) const { return inverse_[static_cast<size_t>(label)]; }

  std::vector<int64_t> ks_;
  std::vector<double> inverse_;
  std::vector<Sums> sums_;
  double examples_ = 0;
};

/// A point of the ROC and precision-recall curves: what is positive has at least this score.
struct CurvePoint {
  double threshold = 0;
  double false_positive_rate = 0, recall = 0, precision = 0;
};
/// From the highest score down, a point for each different score, of at most `most` evenly chosen.
std::vector<CurvePoint> CurveOf(std::vector<std::pair<float, bool>> scored, size_t most);
/// The area under the precision-recall curve, in steps: the mean precision by recall.
double AveragePrecision(std::vector<std::pair<float, bool>> scored);

}  // namespace yoke
