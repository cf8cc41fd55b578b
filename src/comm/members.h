// Members: the ranks of a communicator, as ranks of its world.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace yoke {

class Members {
 public:
  /// All ranks of a world of this size, which take no memory.
  explicit Members(int world) : size_(world) {}
  /// These world ranks, in the order of their new ranks.
  explicit Members(std::vector<int> ranks)
      : size_(static_cast<int>(ranks.size())), ranks_(std::move(ranks)) {
    by_world_.reserve(size_);
    for (int rank = 0; rank < size_; ++rank) by_world_.emplace_back(ranks_[rank], rank);
    std::ranges::sort(by_world_);
  }

  int size() const { return size_; }
  int World(int rank) const { return ranks_.empty() ? rank : ranks_[rank]; }
  /// The new rank of a member.
  int RankOf(int world) const {
    if (ranks_.empty()) return world;
    return std::ranges::lower_bound(by_world_, std::pair(world, 0))->second;
  }
  std::vector<int> List() const {
    std::vector<int> list = ranks_;
    if (list.empty()) {
      list.resize(size_);
      std::iota(list.begin(), list.end(), 0);
    }
    return list;
  }
  bool operator==(const Members& other) const = default;

 private:
  int size_;
  std::vector<int> ranks_;                     // empty: all of a world
  std::vector<std::pair<int, int>> by_world_;  // likewise: world ranks in order, and ours
};

}  // namespace yoke
