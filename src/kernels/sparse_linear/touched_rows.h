// TouchedRows: the entries of sparse rows by feature: what the gradient of only the features that
// occur is summed from.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sort_by_id.h"
#include "tensor/tensor.h"

namespace yoke {

/// An entry of a sparse row.
struct SparseEntry {
  int32_t id = 0;  ///< The feature: a row of the weight.
  int32_t example = 0;
  float value = 0;
};

/// The touched rows of a weight. Owns nothing.
struct TouchedRows {
  int64_t count = 0;
  const int32_t* ids = nullptr;          ///< [count], increasing.
  const int64_t* starts = nullptr;       ///< [count + 1]: the first entry of each row.
  const SparseEntry* entries = nullptr;  ///< By row; those of a row in the order of examples.
};

/// Finds them on the host by a stable radix sort. Keeps its memory between calls.
class TouchedRowList {
 public:
  /// The rows that `input`, whose ids are in [0, features), touches; valid until the next call.
  /// Writes each once to `ids`, in increasing order.
  TouchedRows Find(const SparseRows& input, int64_t features, std::vector<int32_t>& ids);

 private:
  std::vector<SparseEntry> entries_;
  SortScratch<SparseEntry> scratch_;
  std::vector<int64_t> starts_;
};

}  // namespace yoke
