// Lifetimes: lets blocks that are needed at different times share memory.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

/// Memory blocks, each with the first and last step in which it is live. Once all are added, Place
/// assigns offsets such that blocks that are live in the same step never overlap.
class Lifetimes {
 public:
  /// Adds a block that is live in the steps [first, last]; returns its index.
  int Add(int64_t bytes, int first, int last);
  /// Extends the block's lifetime to `step`.
  void Extend(int block, int step);
  /// Greedy: the largest block first, each at the lowest offset that is free throughout its
  /// lifetime. That is quadratic in the number of blocks, so a very large number is placed in the
  /// order of time instead, each in the smallest gap at that time.
  void Place();

  int64_t offset(int block) const { return blocks_[block].offset; }  ///< A multiple of 64.
  int64_t bytes() const { return bytes_; }  ///< Size of all blocks as placed.
  int64_t sum() const;                      ///< Their size without sharing.

 private:
  struct Block {
    int64_t bytes = 0;  // a multiple of 64
    int first = 0;
    int last = 0;
    int64_t offset = 0;
  };
  void PlaceBySize();
  void PlaceByTime();
  int64_t LowestGap(const Block& block, const std::vector<const Block*>& placed) const;

  std::vector<Block> blocks_;
  int64_t bytes_ = 0;
};

}  // namespace yoke
