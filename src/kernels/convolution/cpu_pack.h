// Packs pixels into the cells that weight-gradient tiles multiply (cpu_tiles.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/types.h"

namespace yoke::cpu {

/// The cell format of a type.
template <typename T>
struct CellsOf;
template <>
struct CellsOf<float> {
  using Cell = float;
  static constexpr int64_t kImages = 1;  ///< Number of images whose pixels share a cell.
};
template <>
struct CellsOf<Bf16> {
  using Cell = uint32_t;
  static constexpr int64_t kImages = 2;
};

/// Packs `count` elements from `first`.
inline void PackCells(const float* first, const float* /*second*/, int64_t count, float* to) {
  std::copy_n(first, count, to);
}

/// The same from two images; without a second one, its halves are zero.
inline void PackCells(const Bf16* first, const Bf16* second, int64_t count, uint32_t* to) {
  const auto* low = reinterpret_cast<const uint16_t*>(first);
  const auto* high = reinterpret_cast<const uint16_t*>(second);
  if (high)
    for (int64_t i = 0; i < count; ++i) to[i] = low[i] | uint32_t{high[i]} << 16;
  else
    for (int64_t i = 0; i < count; ++i) to[i] = low[i];
}

/// The same row of one image or of two.
template <typename T>
struct PixelRow {
  const T* first = nullptr;  ///< The row's first pixel; null: a row of zeros.
  const T* second = nullptr;
  int64_t width = 0;     ///< Pixels outside [0, width) are zeros.
  int64_t channels = 0;  ///< Channels per pixel.
};

/// `count` pixels from `first` on, `step` apart, with channels [begin, begin + size).
struct PixelRange {
  int64_t first = 0, step = 1, count = 0, begin = 0, size = 0;
};

template <typename T>
void PackRow(const PixelRow<T>& row, const PixelRange& range, typename CellsOf<T>::Cell* to) {
  const bool dense = range.step == 1 && range.size == row.channels;
  for (int64_t u = 0, run = 1; u < range.count; u += run) {
    const int64_t column = range.first + u * range.step;
    const bool inside = row.first && column >= 0 && column < row.width;
    run = dense && inside ? std::min(range.count - u, row.width - column) : 1;
    const int64_t at = column * row.channels + range.begin;
    if (inside)
      PackCells(row.first + at, row.second ? row.second + at : nullptr, run * range.size, to);
    else
      std::fill_n(to, range.size, typename CellsOf<T>::Cell());
    to += run * range.size;
  }
}

}  // namespace yoke::cpu
