// ActiveSet: what flows along an edge between hashed layers in training: for each group of examples
// one list of active ids, and a dense block of their values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace yoke {

/// A group of a batch's examples, which share their active ids.
struct ActiveGroup {
  int64_t first = 0;     ///< In ActiveSet::order.
  int64_t examples = 0;  ///< Rows of the block.
  int64_t id = 0;        ///< First of its ids in ActiveSet::ids.
  int64_t active = 0;    ///< How many ids; each once.
  int64_t labels = 0;    ///< The first so many are the group's true labels, in increasing order.
  int64_t hard = 0;      ///< The first so many were not drawn at random (labels among them).
  int64_t columns = 0;   ///< Numbers from a row of the block to the next; at least `active`.
  int64_t value = 0;     ///< Where the block begins in values and gradient.
};

/// Storage is kept from step to step.
struct ActiveSet {
  std::vector<int32_t> order;  ///< Examples by their place in the batch, group after group.
  std::vector<ActiveGroup> groups;
  std::vector<int32_t> ids;
  std::vector<float> values;  ///< Blocks [examples, columns]; what lies behind `active` is padding.
  std::vector<float> gradient;  ///< Like values; written by the layer above.

  std::span<const int32_t> IdsOf(const ActiveGroup& group) const {
    return {ids.data() + group.id, static_cast<size_t>(group.active)};
  }
  std::span<const int32_t> ExamplesOf(const ActiveGroup& group) const {
    return {order.data() + group.first, static_cast<size_t>(group.examples)};
  }
};

}  // namespace yoke
