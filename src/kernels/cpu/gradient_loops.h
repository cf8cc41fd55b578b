// The loops of a pass over an output gradient, for 8 or 16 lanes: a strip of columns has its sums
// in registers. Nothing of the standard library is called: see wide.h.
#pragma once

#include "kernels/cpu/gradient_panel.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

/// `Count` vectors of columns at once: masks them, and adds each column to its sum.
template <typename T, int Lanes, int Count>
[[gnu::always_inline]] inline void TakeStrip(const GradientPanel& p) {
  using W = Wide<Lanes>;
  using Floats = typename W::Floats;
  const int64_t first = p.row * p.step + p.column;
  const T* y = p.relu_output ? static_cast<const T*>(p.relu_output) + first : nullptr;
  T* g = static_cast<T*>(p.gradient) + first;
  Floats total[Count];
  for (int k = 0; k < Count; ++k) W::Load(p.sums + k * Lanes, total[k]);
  for (int64_t at = 0; at < p.rows * p.step; at += p.step)
    for (int k = 0; k < Count; ++k) {
      Floats v, output;
      W::Load(g + at + k * Lanes, v);
      if (y) {
        W::Load(y + at + k * Lanes, output);
        v = output <= 0 ? Floats{} : v;
        W::StoreExact(v, g + at + k * Lanes);
      }
      total[k] += v;
    }
  for (int k = 0; k < Count; ++k) W::Store(total[k], p.sums + k * Lanes);
}

template <typename T, int Lanes, int Count>
[[gnu::always_inline]] inline void TakeStrips(GradientPanel& p) {
  constexpr int64_t kWidth = int64_t{Lanes} * Count;
  for (; p.columns >= kWidth; p.columns -= kWidth, p.column += kWidth, p.sums += kWidth)
    TakeStrip<T, Lanes, Count>(p);
}

/// The widest strips first.
template <typename T, int Lanes>
[[gnu::always_inline]] inline void TakePanel(const GradientPanel& given) {
  GradientPanel p = given;
  TakeStrips<T, Lanes, 4>(p);
  TakeStrips<T, Lanes, 1>(p);
  if constexpr (Lanes > 8) TakeStrips<T, 8, 1>(p);
  TakeStrips<T, 1, 1>(p);
}

}  // namespace
}  // namespace yoke::cpu
