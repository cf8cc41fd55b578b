// Sparse linear: the touched rows, by a stable radix sort of the entries by feature.
#include "kernels/sparse_linear/sparse_linear.h"

namespace yoke {

TouchedRows TouchedRowList::Find(const SparseRows& input, int64_t features,
                                 std::vector<int32_t>& ids) {
  const int64_t first = input.rows ? input.offsets[0] : 0;
  entries_.resize(input.rows ? input.offsets[input.rows] - first : 0);
#pragma omp parallel for schedule(static) num_threads(EntryParts(std::ssize(entries_)).count())
  for (int64_t n = 0; n < input.rows; ++n)
    for (int64_t k = input.offsets[n]; k < input.offsets[n + 1]; ++k)
      entries_[k - first] = {input.ids[k], int32_t(n), input.values ? input.values[k] : 1.0F};
  SortById(entries_, scratch_, features);
  FindRuns(entries_, ids, starts_);
  return {.count = std::ssize(ids),
          .ids = ids.data(),
          .starts = starts_.data(),
          .entries = entries_.data()};
}

void CheckIds(const SparseRows& rows, int64_t features) {
  if (rows.rows == 0) return;
  bool inside = true;
  for (int64_t k = rows.offsets[0]; k < rows.offsets[rows.rows]; ++k)
    inside &= static_cast<uint32_t>(rows.ids[k]) < static_cast<uint64_t>(features);
  Check(inside, "a feature of the batch is not among the model's inputs");
}

}  // namespace yoke
