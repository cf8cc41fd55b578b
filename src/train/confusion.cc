// Confusion: sums of rows and columns.
#include "train/confusion.h"

namespace yoke {
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
