// ActiveSet: the data on an edge between hashed layers during training. Each group of examples has
// one list of active ids and a dense block of their values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yoke {

/// A group of a batch's examples, which share their active ids.
struct ActiveGroup {
  int64_t first = 0;     ///< In ActiveSet::order.
  int64_t examples = 0;  ///< Rows in the block.
  int64_t id = 0;        ///< Start of its ids in ActiveSet::ids.
  int64_t active = 0;    ///< Number of ids; each occurs once.
  int64_t labels = 0;  ///< The first `labels` ids are the group's true labels, in increasing order.
  int64_t hard = 0;    ///< The first `hard` ids, labels included, were not drawn at random.
  int64_t columns = 0;  ///< Row stride of the block in elements; at least `active`.
  int64_t value = 0;    ///< Start of the block in `values` and `gradient`.
};

/// Reused from step to step; its storage only grows.
struct ActiveSet {
  /// Set by the graph: the loss reads it, so the true labels must be active and padding must not
  /// count.
  bool scores = false;
  std::vector<int32_t> order;  ///< Positions of the examples in the batch, group by group.
  std::vector<ActiveGroup> groups;
  std::vector<int32_t> ids;
  std::vector<float> values;  ///< Blocks [examples, columns]; columns from `active` on are padding.
  std::vector<float> gradient;  ///< Like values; written by the layer above.

  std::span<const int32_t> IdsOf(const ActiveGroup& group) const {
    return {ids.data() + group.id, static_cast<size_t>(group.active)};
  }
  std::span<const int32_t> ExamplesOf(const ActiveGroup& group) const {
    return {order.data() + group.first, static_cast<size_t>(group.examples)};
  }
};

}  // namespace yoke
