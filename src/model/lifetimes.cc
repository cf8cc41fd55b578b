// Lifetimes: a greedy placement by size, which comes close to the largest sum of any one step.
#include "model/lifetimes.h"

#include <algorithm>

#include "base/round_up.h"

namespace yoke {

int Lifetimes::Add(int64_t bytes, int first, int last) {
  blocks_.push_back({.bytes = RoundUp(bytes, 64), .first = first, .last = last});
  return static_cast<int>(blocks_.size()) - 1;
}

void Lifetimes::Extend(int block, int step) {
  blocks_[block].last = std::max(blocks_[block].last, step);
}

void Lifetimes::Place() {
  std::vector<Block*> order;
  for (Block& block : blocks_) order.push_back(&block);
  std::ranges::stable_sort(order, std::greater(), [](const Block* b) { return b->bytes; });
  std::vector<const Block*> placed;  // by offset
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
