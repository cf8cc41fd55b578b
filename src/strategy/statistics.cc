// Running statistics: means, and changes made elsewhere.
#include "strategy/statistics.h"

#include <span>
#include <vector>

#include "kernels/shared.h"

namespace yoke {

void RunningStatistics::Average(const Communicator& world, Array<float> packed) const {
  if (empty() || world.size() == 1) return;
  const Array<float> ours = Of(packed);
  const Buffer memory(ours.device->staging(), ours.Bytes());
  const Array<float> sums = AllOf<float>(memory);
  Copy(sums, ours);  // a lost rank leaves the values as they are
  world.AllReduce(sums.Host());
  Divide(sums.Host(), static_cast<float>(world.size()));
  Copy(ours, sums);
}

void RunningStatistics::Remember(Array<const float> copy) {
  if (before_.bytes() == 0) before_ = BufferLike(Of(copy));
  Copy(AllOf<float>(before_), Of(copy));
}

void RunningStatistics::AddChanges(Array<const float> copy, Array<float> packed,
                                   float factor) const {
  if (!empty()) AddDifference(Of(packed), factor, Of(copy), AllOf<float>(before_));
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
