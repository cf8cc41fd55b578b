// Running statistics: means, and changes made elsewhere.
#include "strategy/statistics.h"

#include <algorithm>

#include "kernels/shared.h"

namespace yoke {

void RunningStatistics::Average(const Communicator& world, float* packed) const {
  if (empty() || world.size() == 1) return;
  const Values ours = Of(packed);
  std::vector<float> sums(ours.begin(), ours.end());  // a lost rank leaves the values as they are
  world.AllReduce(sums);
  Divide(sums, static_cast<float>(world.size()));
  std::ranges::copy(sums, ours.begin());
}

void RunningStatistics::Remember(const float* copy) {
  const ConstValues now = Of(copy);
  before_.assign(now.begin(), now.end());
}

void RunningStatistics::AddChanges(const float* copy, float* packed, float factor) const {
  AddDifference(Of(packed), factor, Of(copy), before_);
}

/// Through memory of its own, so that racing threads only copy.
void RunningStatistics::MoveShared(Values ours, float fraction, ConstValues theirs) {
  if (ours.empty()) return;
  const auto count = static_cast<int64_t>(ours.size());
  std::vector<float> moved(ours.size());
  CopyShared(ours.data(), count, moved.data());
  MoveTowards(moved, fraction, theirs);
  CopyShared(moved.data(), count, ours.data());
}

}  // namespace yoke
