// TotalMomentum: a ring of sampled values, and the median of ratios.
#include "optim/total_momentum.h"

#include <algorithm>

#include "kernels/shared.h"

namespace yoke {
namespace {

constexpr int64_t kMostElements = 1024;

}  // namespace

/// A stride that shares no factor with the widths of layers visits all their columns.
TotalMomentum::TotalMomentum(int64_t dense, int64_t updates)
    : stride_(std::max<int64_t>(1, dense / kMostElements) | 1),
      count_((dense + stride_ - 1) / stride_),
      history_(static_cast<size_t>(updates) + 3) {}

std::optional<double> TotalMomentum::Measure(int64_t version, int64_t staleness,
                                             const float* values, const float* gradient,
                                             double scale) {
  version_ = version;
  Update& now = Of(version);
  now.version = version;
  now.values.resize(count_);
  for (int64_t i = 0; i < count_; ++i) CopyShared(values + i * stride_, 1, &now.values[i]);

  const int64_t at = version - staleness;
  if (staleness < 1 || !Has(at - 1) || !Has(at)) return {};
  const Update &before = Of(at - 1), &there = Of(at), &after = Of(at + 1);
  ratios_.clear();
  for (int64_t i = 0; i < count_; ++i) {
    const double moved = double{there.values[i]} - before.values[i];
    if (moved == 0) continue;  // also the gaps of alignment
    const double next = double{after.values[i]} - there.values[i];
    ratios_.push_back((next + there.rate * scale * gradient[i * stride_]) / moved);
  }
  if (ratios_.empty()) return {};
  const auto middle = ratios_.begin() + std::ssize(ratios_) / 2;
  std::ranges::nth_element(ratios_, middle);
  if (ratios_.size() % 2 == 1) return *middle;
  return (*std::max_element(ratios_.begin(), middle) + *middle) / 2;
}

}  // namespace yoke
