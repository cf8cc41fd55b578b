// Lifetimes: greedy placement by size, which comes close to the maximum live memory of any step.
#include "model/lifetimes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "base/algorithms.h"

namespace yoke {
namespace {

/// The gaps of a piece of memory that grows at its end.
class Gaps {
 public:
  int64_t end() const { return end_; }

  int64_t Take(int64_t bytes) {
    if (bytes == 0) return 0;
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    const auto [size, offset] = *fit;
    Remove(offset, size);
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  void GiveBack(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      Remove(next->first, next->second);
    }
    const auto behind = by_offset_.lower_bound(offset);
    if (behind != by_offset_.begin()) {
      const auto [before, size] = *std::prev(behind);
      if (before + size == offset) {
        Remove(before, size);
        offset = before, bytes += size;
      }
    }
    Insert(offset, bytes);
  }

 private:
  void Insert(int64_t offset, int64_t size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void Remove(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> by_offset_;           // offset -> size
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size and offset
  int64_t end_ = 0;
};

}  // namespace

int Lifetimes::Add(int64_t bytes, int first, int last) {
  blocks_.push_back({.bytes = RoundUp(bytes, 64), .first = first, .last = last});
  return static_cast<int>(blocks_.size()) - 1;
}

void Lifetimes::Extend(int block, int step) {
  blocks_[block].last = std::max(blocks_[block].last, step);
}

void Lifetimes::Place() {
  constexpr size_t kMany = 4096;
  blocks_.size() < kMany ? PlaceBySize() : PlaceByTime();
}

void Lifetimes::PlaceByTime() {
  std::vector<Block*> order;
  for (Block& block : blocks_) order.push_back(&block);
  std::ranges::stable_sort(order, {}, [](const Block* b) { return b->first; });
  const auto later = [](const Block* a, const Block* b) { return a->last > b->last; };
  std::priority_queue<Block*, std::vector<Block*>, decltype(later)> living(later);
  Gaps gaps;
  for (Block* block : order) {
    for (; !living.empty() && living.top()->last < block->first; living.pop())
      gaps.GiveBack(living.top()->offset, living.top()->bytes);
    block->offset = gaps.Take(block->bytes);
    living.push(block);
  }
  bytes_ = gaps.end();
}

void Lifetimes::PlaceBySize() {
  std::vector<Block*> order;
  for (Block& block : blocks_) order.push_back(&block);
  std::ranges::stable_sort(order, std::greater(), [](const Block* b) { return b->bytes; });
  std::vector<const Block*> placed;  // sorted by offset
  bytes_ = 0;
  for (Block* block : order) {
    block->offset = LowestGap(*block, placed);
    bytes_ = std::max(bytes_, block->offset + block->bytes);
    placed.insert(std::ranges::upper_bound(placed, block->offset, {},
                                           [](const Block* b) { return b->offset; }),
                  block);
  }
}

int64_t Lifetimes::LowestGap(const Block& block, const std::vector<const Block*>& placed) const {
  int64_t offset = 0;
  for (const Block* other : placed) {
    if (other->last < block.first || block.last < other->first) continue;
    if (offset + block.bytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

int64_t Lifetimes::sum() const {
  int64_t sum = 0;
  for (const Block& block : blocks_) sum += block.bytes;
  return sum;
}

}  // namespace yoke
