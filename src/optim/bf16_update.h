// Bf16Update: updates rows whose values and state are stored in bf16. The rule computes in f32; the
// results are rounded.
#pragma once

#include <array>
#include <cstdint>

#include "base/algorithms.h"
#include "optim/rule.h"

namespace yoke {

/// Elements in bf16: values, and the rule's state arrays (null: none).
struct Bf16Span {
  std::array<Bf16*, 1 + kMaxStateArrays> arrays = {};
  int64_t count = 0;
};

/// A slice of values and state that is stored in bf16.
class Bf16Slice {
 public:
  /// `values`: the packed buffer.
  Bf16Slice(float* values, const RuleState& state, const Slice& slice);
  Bf16Span Row(int64_t id) const;
  /// Always inlined: see FetchAhead.
  [[gnu::always_inline]] void FetchRow(int64_t id) const {
    const Bf16Span row = Row(id);
    for (const Bf16* array : row.arrays)
      if (array) FetchAhead(array, row.count);
  }

 private:
  Bf16Span first_row_;
};

/// One update of one row: what its draws are keyed by, so that a resumed run draws the same.
struct RowUpdate {
  const Rounding& rounding;
  int slice = 0;
  int64_t row = 0;
  int64_t step = 0;  ///< The row's own.
};

/// Updates a row, in the calling thread. Other threads may read and write it at the same time
/// (optim/racing.h).
void UpdateBf16(const UpdateRule& rule, const Bf16Span& row, const float* gradient,
                const UpdateStep& step, const RowUpdate& update);

/// Rounds to bf16: element i is drawn by (key, i). Infinite numbers and NaN stay so; finite
/// ones beyond the largest of bf16 become that.
void RoundStochastically(const float* from, int64_t count, uint64_t key, Bf16* to);

}  // namespace yoke
