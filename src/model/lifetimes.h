// Lifetimes: lets blocks of memory that are needed at different times lie over each other.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

/// Blocks with the first and last step at which each holds something. Once all are known, Place
/// gives each an offset such that blocks of a common step never overlap.
class Lifetimes {
 public:
  /// A block that is needed in the steps [first, last]; returns its index.
  int Add(int64_t bytes, int first, int last);
  /// The block is needed until `step` too.
  void Extend(int block, int step);
  /// Greedy: the largest block first, each at the lowest place that is free throughout its life.
  /// That is quadratic in the number of blocks: very many are placed in the order of time instead,
  /// each in the smallest gap that there is then.
  void Place();

  int64_t offset(int block) const { return blocks_[block].offset; }  ///< A multiple of 64.
  int64_t bytes() const { return bytes_; }  ///< Of all blocks as they were placed.
  int64_t sum() const;                      ///< What they would take side by side.

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
