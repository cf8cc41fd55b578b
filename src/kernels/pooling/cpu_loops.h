// The loops of pooling, for 8 or 16 lanes: one pixel at a time, with blocks of channels in
// registers. They call no inline function of the standard library: see wide.h.
#pragma once

#include "kernels/cpu/wide.h"
#include "kernels/pooling/cpu_rows.h"

namespace yoke::cpu {
namespace {

/// `Count` vectors of channels, with elements of type T.
template <typename T, int Lanes, int Count>
struct PoolBlock {
  using Floats = typename Wide<Lanes>::Floats;
  using Ints = typename VectorTypes<Lanes>::Ints;
  static constexpr int64_t kChannels = int64_t{Lanes} * Count;

  [[gnu::always_inline]] static void Forward(const PoolRow& p, int64_t column, int64_t c) {
    const PoolExtent &rows = p.rows.extents[p.row], &columns = p.columns.extents[column];
    const T* x = static_cast<const T*>(p.from) + c;
    const int64_t out = (p.row * p.columns.outputs + column) * p.channels + c;
    T* y = static_cast<T*>(p.to) + out;
    if (p.maximum)
      Largest(p, rows, columns, x, y, p.taps ? p.taps + out : nullptr);
    else
      Mean(p, rows, columns, x, y);
  }

  [[gnu::always_inline]] static void Largest(const PoolRow& p, const PoolExtent& rows,
                                             const PoolExtent& columns, const T* x, T* y,
                                             uint8_t* taps) {
    Floats best[Count], v;
    Ints best_tap[Count];
    const T* start = x + (rows.begin * p.columns.inputs + columns.begin) * p.channels;
    for (int k = 0; k < Count; ++k) {
      Wide<Lanes>::Load(start + k * Lanes, best[k]);
      best_tap[k] = Ints{} + static_cast<int32_t>(rows.first * p.columns.size + columns.first);
    }
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const auto tap = static_cast<int32_t>((i - rows.begin + rows.first) * p.columns.size + j -
                                              columns.begin + columns.first);
        const T* at = x + (i * p.columns.inputs + j) * p.channels;
        for (int k = 0; k < Count; ++k) {
          Wide<Lanes>::Load(at + k * Lanes, v);
          const Ints wins = (v > best[k]) | (v != v);  // NaN is a maximum
          best[k] = wins ? v : best[k];
          best_tap[k] = wins ? Ints{} + tap : best_tap[k];
        }
      }
    for (int k = 0; k < Count; ++k) {
      Wide<Lanes>::StoreExact(best[k], y + k * Lanes);
      if (taps) Wide<Lanes>::StoreBytes(best_tap[k], taps + k * Lanes);
    }
  }

  [[gnu::always_inline]] static void Mean(const PoolRow& p, const PoolExtent& rows,
                                          const PoolExtent& columns, const T* x, T* y) {
    Floats sum[Count] = {}, v;
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j)
        for (int k = 0; k < Count; ++k) {
          Wide<Lanes>::Load(x + (i * p.columns.inputs + j) * p.channels + k * Lanes, v);
          sum[k] += v;
        }
    const auto counted = static_cast<float>(rows.counted * columns.counted);
    for (int k = 0; k < Count; ++k) Wide<Lanes>::Store(sum[k] / counted, y + k * Lanes);
  }

  /// Sums the gradients of all windows that cover one input pixel.
  [[gnu::always_inline]] static void Gather(const PoolRow& p, int64_t column, int64_t c) {
    const PoolCover &rows = p.rows.covers[p.row], &columns = p.columns.covers[column];
    const T* dy = static_cast<const T*>(p.from) + c;
    Floats sum[Count] = {}, g;
    Ints best_tap;
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t window = (i * p.columns.outputs + j) * p.channels;
        const int32_t tap = TapOf(p, i, j, column);
        const float share = p.maximum ? 1 : Share(p, i, j);
        for (int k = 0; k < Count; ++k) {
          Wide<Lanes>::Load(dy + window + k * Lanes, g);
          if (p.maximum) {
            Wide<Lanes>::LoadBytes(p.taps + window + c + k * Lanes, best_tap);
            sum[k] += best_tap == tap ? g : Floats{};
          } else {
            sum[k] += g * share;
          }
        }
      }
    T* dx = static_cast<T*>(p.to) + (p.row * p.columns.inputs + column) * p.channels + c;
    for (int k = 0; k < Count; ++k) Wide<Lanes>::Store(sum[k], dx + k * Lanes);
  }

  /// Writes the gradient of one window to the pixels of a row, for windows that do not overlap.
  [[gnu::always_inline]] static void Spread(const PoolRow& p, int64_t j, int64_t c) {
    const int64_t i = p.rows.covers[p.row].begin;
    const int64_t window = (i * p.columns.outputs + j) * p.channels + c;
    const T* dy = static_cast<const T*>(p.from) + window;
    const PoolExtent columns = p.columns.extents[j];  // a copy that stores cannot alias
    const float share = p.maximum ? 1 : Share(p, i, j);
    Floats g[Count];
    Ints best_tap[Count] = {};
    for (int k = 0; k < Count; ++k) {
      Wide<Lanes>::Load(dy + k * Lanes, g[k]);
      g[k] *= share;
      if (p.maximum) Wide<Lanes>::LoadBytes(p.taps + window + k * Lanes, best_tap[k]);
    }
    T* dx = static_cast<T*>(p.to) + p.row * p.columns.inputs * p.channels + c;
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const int32_t tap = TapOf(p, i, j, x);
      for (int k = 0; k < Count; ++k) {
        const Floats v = !p.maximum || best_tap[k] == tap ? g[k] : Floats{};
        Wide<Lanes>::Store(v, dx + x * p.channels + k * Lanes);
      }
    }
  }

  /// The tap of window (i, j) at pixel `column` of this row.
  [[gnu::always_inline]] static int32_t TapOf(const PoolRow& p, int64_t i, int64_t j,
                                              int64_t column) {
    const int64_t y = p.row + p.rows.padding - i * p.rows.stride;
    const int64_t x = column + p.columns.padding - j * p.columns.stride;
    return static_cast<int32_t>(y * p.columns.size + x);
  }

  [[gnu::always_inline]] static float Share(const PoolRow& p, int64_t i, int64_t j) {
    return 1 / static_cast<float>(p.rows.extents[i].counted * p.columns.extents[j].counted);
  }
};

enum class PoolStep { kForward, kGather, kSpread };

template <typename Block, PoolStep Step>
[[gnu::always_inline]] inline void RunPoolBlock(const PoolRow& p, int64_t at, int64_t c) {
  if constexpr (Step == PoolStep::kForward)
    Block::Forward(p, at, c);
  else if constexpr (Step == PoolStep::kGather)
    Block::Gather(p, at, c);
  else
    Block::Spread(p, at, c);
}

/// Processes all channels of pixels or windows [0, count); the last vector may recompute some
/// channels.
template <typename T, int Lanes, PoolStep Step>
[[gnu::always_inline]] inline void RunPoolBlocks(const PoolRow& p, int64_t count) {
  using Four = PoolBlock<T, Lanes, 4>;
  using One = PoolBlock<T, Lanes, 1>;
  if constexpr (Lanes > 1)
    if (p.channels < Lanes) return RunPoolBlocks<T, kFewerLanes<Lanes>, Step>(p, count);
  const int64_t last = p.channels - Lanes;
  for (int64_t at = 0; at < count; ++at) {
    int64_t c = 0;
    for (; c + Four::kChannels <= p.channels; c += Four::kChannels)
      RunPoolBlock<Four, Step>(p, at, c);
    for (; c < p.channels; c += Lanes) RunPoolBlock<One, Step>(p, at, c < last ? c : last);
  }
}

/// Zeros for the pixels of a row that no window covers.
template <typename T>
[[gnu::always_inline]] inline void ZeroUncovered(const PoolRow& p) {
  const bool covered = p.rows.covers[p.row].Any();
  T* dx = static_cast<T*>(p.to) + p.row * p.columns.inputs * p.channels;
  for (int64_t x = 0; x < p.columns.inputs; ++x)
    if (!covered || !p.columns.covers[x].Any())
      std::memset(static_cast<void*>(dx + x * p.channels), 0, p.channels * sizeof(T));
}

template <typename T, int Lanes>
void ForwardPoolRow(const PoolRow& given) {
  const PoolRow p = given;  // a copy that no store can change
  RunPoolBlocks<T, Lanes, PoolStep::kForward>(p, p.columns.outputs);
}

template <typename T, int Lanes>
void BackwardPoolRow(const PoolRow& given) {
  const PoolRow p = given;
  if (p.rows.Overlaps() || p.columns.Overlaps())
    return RunPoolBlocks<T, Lanes, PoolStep::kGather>(p, p.columns.inputs);
  ZeroUncovered<T>(p);
  if (p.rows.covers[p.row].Any()) RunPoolBlocks<T, Lanes, PoolStep::kSpread>(p, p.columns.outputs);
}

template <int Lanes>
PoolLoops PoolLoopsOf(bool bf16) {
  if (bf16) return {ForwardPoolRow<Bf16, Lanes>, BackwardPoolRow<Bf16, Lanes>};
  return {ForwardPoolRow<float, Lanes>, BackwardPoolRow<float, Lanes>};
}

}  // namespace
}  // namespace yoke::cpu
