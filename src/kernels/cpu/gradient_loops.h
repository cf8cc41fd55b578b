// The loops of a pass over an output gradient, for 8 or 16 lanes: the sums of a strip of columns
// stay in registers. They call nothing from the standard library: see wide.h.
#pragma once

#include "kernels/cpu/gradient.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

/// Masks `Count` vectors of columns, `width` columns in all, and adds each column to its sum. The
/// last vector ends with the last column. Lanes that it shares with the vector before it (in this
/// strip or, if `width` is less than a vector, in the panel's previous strip) are masked twice but
/// added once.
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
    for (int k = 0; k < Count; ++k)  // load all before storing: loads of fresh stores stall
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
  for (int k = Count - 1; k >= 0; --k)  // the last vector's shared lanes are stale
    W::Store(total[k], p.sums + (k < Count - 1 ? k * Lanes : last));
}

/// Strips of four vectors, then one strip for the rest.
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
