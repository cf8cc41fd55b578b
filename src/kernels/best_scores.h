// BestScores: keeps the greatest of the scores offered, without sorting the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace yoke {

/// Orders by score, greatest first, ties by id. NaNs are ignored.
class BestScores {
 public:
  using Entry = std::pair<float, int32_t>;  ///< A score and its id.

  explicit BestScores(int64_t count) : count_(static_cast<size_t>(count)) {}
  void Clear() { heap_.clear(); }
  /// Whether this score would be kept if its id is greater than all ids offered so far.
  bool Wants(float score) const {
    return count_ > 0 && (heap_.size() < count_ || score > heap_.front().first);
  }
  void Offer(float score, int32_t id) {
    const bool full = heap_.size() == count_;
    const Entry entry(score, id);
    if (std::isnan(score) || count_ == 0 || (full && !Before(entry, heap_.front()))) return;
    if (full) {
      std::pop_heap(heap_.begin(), heap_.end(), Before);
      heap_.pop_back();
    }
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), Before);
  }
  /// In no particular order.
  const std::vector<Entry>& entries() const { return heap_; }
  /// Sorts best first. Nothing may be offered until Clear().
  const std::vector<Entry>& Sort() {
    std::sort_heap(heap_.begin(), heap_.end(), Before);
    return heap_;
  }
  static bool Before(const Entry& a, const Entry& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  }

 private:
  size_t count_;
  std::vector<Entry> heap_;  ///< A heap with the worst entry in front.
};

}  // namespace yoke
