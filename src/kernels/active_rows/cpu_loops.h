// The loops over active rows, for 8 or 16 lanes: a row stays in the nearest cache for all its uses;
// the examples' inputs are in the next one. They call nothing from the standard library: see
// wide.h.
#pragma once

#include "kernels/active_rows/cpu_rows.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kRowsAhead = 6;   // rows asked for before they are needed
constexpr int64_t kUsesAhead = 12;  // uses whose gradient is asked for

template <int Lanes>
[[gnu::always_inline]] inline float SumLanes(const typename Wide<Lanes>::Floats& v) {
  if constexpr (Lanes == 4) {
    return (v[0] + v[2]) + (v[1] + v[3]);
  } else {
    typename Wide<Lanes / 2>::Floats halves[2];
    std::memcpy(halves, &v, sizeof v);
    return SumLanes<Lanes / 2>(halves[0] + halves[1]);
  }
}

template <int Lanes>
[[gnu::always_inline]] inline float Dot(const float* x, const float* y, int64_t n) {
  using Floats = typename Wide<Lanes>::Floats;
  Floats sums[2] = {}, a, b;
  int64_t i = 0;
  for (; i + 2 * Lanes <= n; i += 2 * Lanes)
    for (int k = 0; k < 2; ++k) {
      Wide<Lanes>::Load(x + i + k * Lanes, a);
      Wide<Lanes>::Load(y + i + k * Lanes, b);
      sums[k] += a * b;
    }
  float dot = SumLanes<Lanes>(sums[0] + sums[1]);
  for (; i < n; ++i) dot += x[i] * y[i];
  return dot;
}

/// to = scale x, or += it.
template <int Lanes, bool kAdds>
[[gnu::always_inline]] inline void Scaled(float* to, float scale, const float* x, int64_t n) {
  typename Wide<Lanes>::Floats from, sum = {};
  int64_t i = 0;
  for (; i + Lanes <= n; i += Lanes) {
    Wide<Lanes>::Load(x + i, from);
    if (kAdds) Wide<Lanes>::Load(to + i, sum);
    Wide<Lanes>::Store(kAdds ? sum + scale * from : scale * from, to + i);
  }
  for (; i < n; ++i) to[i] = kAdds ? to[i] + scale * x[i] : scale * x[i];
}

[[gnu::always_inline]] inline void FetchRow(const RowRange& range, int64_t r) {
  if (r >= range.end) return;
  const int64_t n = range.shape.inputs, first = range.call.used.ids[r] * n;
  if (range.call.bf16_weight)
    FetchFrom(range.call.bf16_weight + first, n);
  else
    FetchFrom(range.call.weight + first, n);
}

/// The weights of a row in f32.
[[gnu::always_inline]] inline const float* RowOf(const RowRange& range, int64_t id) {
  const int64_t n = range.shape.inputs;
  if (!range.call.bf16_weight) return range.call.weight + id * n;
  const Bf16* row = range.call.bf16_weight + id * n;
  for (int64_t i = 0; i < n; ++i)
    range.copy[i] = __builtin_bit_cast(float, static_cast<uint32_t>(row[i].bits) << 16);
  return range.copy;
}

template <int Lanes>
[[gnu::always_inline]] inline void ForwardRows(const RowRange& range) {
  const ActiveRowsCall& call = range.call;
  const int64_t n = range.shape.inputs;
  for (int64_t r = range.begin; r < range.end; ++r) {
    FetchRow(range, r + kRowsAhead);
    const int64_t id = call.used.ids[r];
    const float* w = RowOf(range, id);
    const float bias = range.shape.bias ? call.bias[id] : 0.0F;
    for (int64_t k = call.used.starts[r]; k < call.used.starts[r + 1]; ++k) {
      const RowUse& use = call.used.uses[k];
      const float y = bias + Dot<Lanes>(w, call.input + use.example * n, n);
      call.values[use.place] = range.shape.relu && y < 0 ? 0.0F : y;
    }
  }
}

/// Of a use's value.
[[gnu::always_inline]] inline float GradientOf(const RowRange& range, const RowUse& use) {
  float& dy = range.call.gradient[use.place];
  if (range.shape.relu && !(range.call.values[use.place] > 0)) dy = 0;
  return dy;
}

template <int Lanes>
[[gnu::always_inline]] inline void BackwardRows(const RowRange& range) {
  const ActiveRowsCall& call = range.call;
  const int64_t n = range.shape.inputs, uses = call.used.starts[range.end];
  for (int64_t r = range.begin; r < range.end; ++r) {
    if (range.input_gradient) FetchRow(range, r + kRowsAhead);
    const float* w = range.input_gradient ? RowOf(range, call.used.ids[r]) : nullptr;
    float* dw = call.row_gradient + r * n;
    float sum = 0;
    const int64_t first = call.used.starts[r];
    for (int64_t k = first; k < call.used.starts[r + 1]; ++k) {
      if (k + kUsesAhead < uses)
        __builtin_prefetch(call.gradient + call.used.uses[k + kUsesAhead].place);
      const RowUse& use = call.used.uses[k];
      const float dy = GradientOf(range, use);
      sum += dy;
      if (k == first)
        Scaled<Lanes, false>(dw, dy, call.input + use.example * n, n);
      else
        Scaled<Lanes, true>(dw, dy, call.input + use.example * n, n);
      if (range.input_gradient)
        Scaled<Lanes, true>(range.input_gradient + use.example * n, dy, w, n);
    }
    if (range.shape.bias) call.bias_gradient[r] = sum;
  }
}

}  // namespace
}  // namespace yoke::cpu
