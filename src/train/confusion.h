// Confusion: how often examples of each class were taken for each other one, and what follows.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

class Confusion {
 public:
  explicit Confusion(int64_t classes) : classes_(classes), counts_(classes * classes) {}

  int64_t classes() const { return classes_; }
  /// Examples of class `truth` whose best score is that of class `found`.
  int64_t& At(int64_t truth, int64_t found) { return counts_[truth * classes_ + found]; }
  int64_t At(int64_t truth, int64_t found) const { return counts_[truth * classes_ + found]; }
  int64_t Of(int64_t truth) const;       ///< Examples of the class.
  int64_t FoundAs(int64_t found) const;  ///< Examples taken for the class.

  /// The fraction of the examples taken for the class that are of it; 0 if there are none.
  double Precision(int64_t of) const;
  /// The fraction of the class's examples that were taken for it; 0 if there are none.
  double Recall(int64_t of) const;
  /// The harmonic mean of both; 0 if both are 0.
  double F1(int64_t of) const;
  /// The mean of the recalls of the classes that have examples.
  double BalancedAccuracy() const;

 private:
  int64_t classes_;
  std::vector<int64_t> counts_;
};

}  // namespace yoke
