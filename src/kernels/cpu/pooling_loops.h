// The loops of pooling, for 8 or 16 lanes: a pixel at a time, blocks of channels in registers.
// Nothing of the standard library is called: see wide.h.
#pragma once

#include "kernels/cpu/pooling_rows.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

/// `Count` vectors of channels of a pool of numbers T.
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
    Ints winner[Count];
    const T* start = x + (rows.begin * p.columns.inputs + columns.begin) * p.channels;
    for (int k = 0; k < Count; ++k) {
      Wide<Lanes>::Load(start + k * Lanes, best[k]);
      winner[k] = Ints{} + static_cast<int32_t>(rows.first * p.columns.size + columns.first);
    }
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const auto tap = static_cast<int32_t>((i - rows.begin + rows.first) * p.columns.size + j -
                                              columns.begin + columns.first);
        const T* at = x + (i * p.columns.inputs + j) * p.channels;
        for (int k = 0; k < Count; ++k) {
          Wide<Lanes>::Load(at + k * Lanes, v);
          const Ints wins = (v > best[k]) | (v != v);  // a NaN wins
          best[k] = wins ? v : best[k];
          winner[k] = wins ? Ints{} + tap : winner[k];
        }
      }
    for (int k = 0; k < Count; ++k) {
      Wide<Lanes>::StoreExact(best[k], y + k * Lanes);
      if (taps) Wide<Lanes>::StoreBytes(winner[k], taps + k * Lanes);
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

  [[gnu::always_inline]] static void Backward(const PoolRow& p, int64_t column, int64_t c) {
    const PoolCover &rows = p.rows.covers[p.row], &columns = p.columns.covers[column];
    const T* dy = static_cast<const T*>(p.from) + c;
    const uint8_t* taps = p.taps + c;
    T* dx = static_cast<T*>(p.to) + (p.row * p.columns.inputs + column) * p.channels + c;
    Floats sum[Count] = {}, g;
    Ints winner;
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t window = (i * p.columns.outputs + j) * p.channels;
        const int64_t y = p.row + p.rows.padding - i * p.rows.stride;
        const int64_t x = column + p.columns.padding - j * p.columns.stride;
        const auto tap = static_cast<int32_t>(y * p.columns.size + x);
        const float share = p.maximum ? 1 : Share(p, i, j);
        for (int k = 0; k < Count; ++k) {
          Wide<Lanes>::Load(dy + window + k * Lanes, g);
          if (p.maximum) {
            Wide<Lanes>::LoadBytes(taps + window + k * Lanes, winner);
            sum[k] += winner == tap ? g : Floats{};
          } else {
            sum[k] += g * share;
          }
        }
      }
    for (int k = 0; k < Count; ++k) Wide<Lanes>::Store(sum[k], dx + k * Lanes);
  }

  [[gnu::always_inline]] static float Share(const PoolRow& p, int64_t i, int64_t j) {
    return 1 / static_cast<float>(p.rows.extents[i].counted * p.columns.extents[j].counted);
  }
};

/// A pixel's channels from c on: as many whole blocks as there are, then smaller ones.
template <typename T, int Lanes, int Count, bool Back>
[[gnu::always_inline]] inline void PoolPixel(const PoolRow& p, int64_t column, int64_t c) {
  using Block = PoolBlock<T, Lanes, Count>;
  for (; c + Block::kChannels <= p.channels; c += Block::kChannels) {
    if constexpr (Back)
      Block::Backward(p, column, c);
    else
      Block::Forward(p, column, c);
  }
  if constexpr (Count > 1)
    PoolPixel<T, Lanes, 1, Back>(p, column, c);
  else if constexpr (Lanes > 1)
    PoolPixel<T, (Lanes > 8 ? 8 : Lanes > 4 ? 4 : 1), 1, Back>(p, column, c);
}

template <typename T, int Lanes, bool Back>
[[gnu::always_inline]] inline void RunPoolRow(const PoolRow& given) {
  const PoolRow p = given;  // a copy that no store can change
  const int64_t pixels = Back ? p.columns.inputs : p.columns.outputs;
  if (p.channels < Lanes) {
    for (int64_t column = 0; column < pixels; ++column) PoolPixel<T, 4, 1, Back>(p, column, 0);
  } else {
    for (int64_t column = 0; column < pixels; ++column) PoolPixel<T, Lanes, 4, Back>(p, column, 0);
  }
}

}  // namespace
}  // namespace yoke::cpu
