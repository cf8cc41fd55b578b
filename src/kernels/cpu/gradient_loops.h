// The loops of a pass over an output gradient, for 8 or 16 lanes: a strip of columns has its sums
// in registers. Nothing of the standard library is called: see wide.h.
#pragma once

#include "kernels/cpu/gradient_panel.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

/// `Count` vectors of columns at once, `width` columns in all: masks them, and adds each column to
/// its sum. The last vector ends with the last column; what it shares with the one before it (of
/// this strip, or of the panel's strip before, which there is where `width` is less than a vector)
/// is masked twice and added once.
template <typename T, int Lanes, int Count>
[[gnu::always_inline]] inline void TakeStrip(const GradientPanel& p, int64_t width) {
  using W = Wide<Lanes>;
  using Floats = typename W::Floats;
  const int64_t first = p.row * p.step + p.column, last = width - Lanes;
  const T* y = p.relu_output ? static_cast<const T*>(p.relu_output) + first : nullptr;
  T* g = static_cast<T*>(p.gradient) + first;
  typename W::Ints added;  // lanes of the last vector
  for (int i = 0; i < Lanes; ++i) added[i] = i >= Count * Lanes - width ? -1 : 0;
  Floats total[Count];
  for (int k = 0; k < Count; ++k) W::Load(p.sums + (k < Count - 1 ? k * Lanes : last), total[k]);
  for (int64_t at = 0; at < p.rows * p.step; at += p.step) {
    Floats v[Count], output;
    for (int k = 0; k < Count; ++k)  // before any is stored: loads of what was just stored wait
      W::Load(g + at + (k < Count - 1 ? k * Lanes : last), v[k]);
    for (int k = 0; k < Count; ++k) {
      const int64_t here = at + (k < Count - 1 ? k * Lanes : last);
      if (y) {
        W::Load(y + here, output);
        v[k] = output <= 0 ? Floats{} : v[k];
        W::StoreExact(v[k], g + here);
      }
      if (k == Count - 1) v[k] = added ? v[k] : Floats{};
      total[k] += v[k];
    }
  }
  for (int k = Count - 1; k >= 0; --k)  // the last one's lanes of another vector are stale
    W::Store(total[k], p.sums + (k < Count - 1 ? k * Lanes : last));
}

/// Strips of four vectors, then one of what is left.
template <typename T, int Lanes>
[[gnu::always_inline]] inline void TakePanel(const GradientPanel& given) {
  if constexpr (Lanes > 1)
    if (given.columns < Lanes) return TakePanel<T, kFewerLanes<Lanes>>(given);
  GradientPanel p = given;
  constexpr int64_t kWidth = int64_t{Lanes} * 4;
  for (; p.columns >= kWidth; p.columns -= kWidth, p.column += kWidth, p.sums += kWidth)
    TakeStrip<T, Lanes, 4>(p, kWidth);
  if (p.columns > 3 * Lanes)
    TakeStrip<T, Lanes, 4>(p, p.columns);
  else if (p.columns > 2 * Lanes)
    TakeStrip<T, Lanes, 3>(p, p.columns);
  else if (p.columns > Lanes)
    TakeStrip<T, Lanes, 2>(p, p.columns);
  else if (p.columns > 0)
    TakeStrip<T, Lanes, 1>(p, p.columns);
}

}  // namespace
}  // namespace yoke::cpu
