// BatchRows: lists the rows of a sparse layer's weight that a batch reads, so that a device gets
// these alone, one behind the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sparse_linear/sparse_linear.h"
#include "tensor/batch.h"

namespace yoke {

class BatchRows {
 public:
  /// Of a batch with `features` features, sparse or not: then there are none. Throws Error for an
  /// id that is not below `features`.
  void Find(const Batch& batch, int64_t features) {
    ids_.clear();
    if (!batch.is_sparse) return;
    CheckIds(batch.sparse.View(), features);
    list_.Find(batch.sparse.View(), features, ids_);
    places_.resize(features);
    for (size_t i = 0; i < ids_.size(); ++i) places_[ids_[i]] = static_cast<int32_t>(i);
  }
  /// The rows, in increasing order.
  std::span<const int32_t> ids() const { return ids_; }
  /// Replaces the ids of a part of the batch by their places in ids().
  void Renumber(SparseStorage& rows) const {
    for (int32_t& id : rows.ids) id = places_[id];
  }
  /// Replaces such places by the ids.
  void Restore(std::vector<int32_t>& places) const {
    for (int32_t& place : places) place = ids_[place];
  }

 private:
  TouchedRowList list_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> places_;  // by id; of other batches' ids anything
};

}  // namespace yoke
