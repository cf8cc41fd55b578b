// The sum of weighted rows for 8 or 16 lanes: a strip of up to eight vectors of columns stays in
// registers while all rows are added. Each element is summed in the order of the rows by fused
// multiply-adds, so both widths give the same bits. They call nothing from the standard library:
// see wide.h.
#pragma once

#include "kernels/cpu/wide.h"
#include "kernels/sparse_linear/cpu_rows.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kRowsAhead = 4;  // rows asked for before they are needed

/// Columns [column, column + Count * Lanes).
template <int Lanes, int Count, typename T>
[[gnu::always_inline]] inline void SumStrip(const WeightedRows<T>& s, int64_t column) {
  using W = Wide<Lanes>;
  typename W::Floats sums[Count], v;
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    sums[i] = typename W::Floats{};
    if (s.start) W::Load(s.start + column + i * Lanes, sums[i]);
  }
  for (int64_t k = 0; k < s.count; ++k) {
    if (column == 0 && k + kRowsAhead < s.count)
      FetchFrom(s.matrix + s.rows[(k + kRowsAhead) * s.step] * s.width, s.width);
    const float weight = s.weights ? s.weights[k * s.step] : 1.0F;
    const T* row = s.matrix + s.rows[k * s.step] * s.width + column;
#pragma GCC unroll 8
    for (int i = 0; i < Count; ++i) {
      W::Load(row + i * Lanes, v);
      sums[i] += weight * v;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) {
    if (s.relu) sums[i] = sums[i] < 0 ? typename W::Floats{} : sums[i];
    W::Store(sums[i], s.sum + column + i * Lanes);
  }
}

/// Strips of eight vectors, then of four and of one, then of narrower vectors.
template <int Lanes, typename T>
[[gnu::always_inline]] inline void SumStrips(const WeightedRows<T>& s, int64_t column) {
  for (; column + 8 * Lanes <= s.width; column += 8 * Lanes) SumStrip<Lanes, 8>(s, column);
  for (; column + 4 * Lanes <= s.width; column += 4 * Lanes) SumStrip<Lanes, 4>(s, column);
  for (; column + Lanes <= s.width; column += Lanes) SumStrip<Lanes, 1>(s, column);
  if constexpr (Lanes > 1)
    if (column < s.width) SumStrips<kFewerLanes<Lanes>>(s, column);
}

}  // namespace
}  // namespace yoke::cpu
