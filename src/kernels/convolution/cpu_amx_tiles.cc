// Four tiles of sums, two of x and two of y: each load serves two products of 16 cycles.
#include "kernels/convolution/cpu_amx_tiles.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace yoke::cpu {
namespace {

/// What LDTILECFG reads: palette 1; of each of 8 tiles, the bytes of a row and the rows.
alignas(64) constexpr uint8_t kConfig[64] = {
    1,  0,  0,  0,  0,  0,  0,  0, 0,  0, 0,  0, 0,  0, 0,  0,  //
    64, 0,  64, 0,  64, 0,  64, 0, 64, 0, 64, 0, 64, 0, 64, 0,  //
    0,  0,  0,  0,  0,  0,  0,  0, 0,  0, 0,  0, 0,  0, 0,  0,  //
    16, 16, 16, 16, 16, 16, 16, 16};

// Tiles 0 to 3: sums; 4, 5: x; 6, 7: y.
template <int Channels, int Outputs>
[[gnu::target("amx-tile,amx-bf16")]] void Sum(const AmxBlock& b) {
  float* sums = b.sums;
  const int64_t sums_bytes = b.sums_step * 4, x_bytes = b.x_channel * 4, y_bytes = b.y_pixel * 4;
  if (b.first) {
    _tile_zero(0);
    if (Outputs > 1) _tile_zero(1);
    if (Channels > 1) _tile_zero(2);
    if (Channels > 1 && Outputs > 1) _tile_zero(3);
  } else {
    _tile_loadd(0, sums, sums_bytes);
    if (Outputs > 1) _tile_loadd(1, sums + kTile, sums_bytes);
    if (Channels > 1) _tile_loadd(2, sums + kTile * b.sums_step, sums_bytes);
    if (Channels > 1 && Outputs > 1) _tile_loadd(3, sums + kTile * b.sums_step + kTile, sums_bytes);
  }
  for (int64_t image = 0; image < b.images; ++image) {
    const uint32_t *x = b.x + image * b.x_image, *y = b.y + image * b.y_image;
    for (int64_t pixel = 0; pixel < b.pixels; pixel += kTile, x += kTile, y += kTile * b.y_pixel) {
      _tile_loadd(4, x, x_bytes);
      _tile_loadd(6, y, y_bytes);
      _tile_dpbf16ps(0, 4, 6);
      if (Outputs > 1) {
        _tile_loadd(7, y + kTile, y_bytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if (Channels > 1) {
        _tile_loadd(5, x + kTile * b.x_channel, x_bytes);
        _tile_dpbf16ps(2, 5, 6);
        if (Outputs > 1) _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  _tile_stored(0, sums, sums_bytes);
  if (Outputs > 1) _tile_stored(1, sums + kTile, sums_bytes);
  if (Channels > 1) _tile_stored(2, sums + kTile * b.sums_step, sums_bytes);
  if (Channels > 1 && Outputs > 1) _tile_stored(3, sums + kTile * b.sums_step + kTile, sums_bytes);
}

/// 16 channels of a pixel of both images; `some` of them exist.
[[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] inline __m512i Cells(
    const uint16_t* first, const uint16_t* second, __mmask16 some) {
  const __m512i low = _mm512_maskz_cvtepu16_epi32(0xFFFF, _mm256_maskz_loadu_epi16(some, first));
  if (!second) return low;
  const __m512i high = _mm512_maskz_cvtepu16_epi32(0xFFFF, _mm256_maskz_loadu_epi16(some, second));
  return _mm512_or_si512(low, _mm512_maskz_slli_epi32(0xFFFF, high, 16));
}

/// Transposes 16 x 16 cells and writes row c to `to + c * step`.
[[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] inline void StoreTurned(
    __m512i (&r)[16], uint32_t* to, int64_t step) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_maskz_unpacklo_epi32(0xFFFF, r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_maskz_unpackhi_epi32(0xFFFF, r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_maskz_unpacklo_epi64(0xFF, t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_maskz_unpackhi_epi64(0xFF, t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_maskz_unpacklo_epi64(0xFF, t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_maskz_unpackhi_epi64(0xFF, t[4 * i + 1], t[4 * i + 3]);
  }
  // r[4 i + k] holds in its four lanes channels k, 4 + k, 8 + k, 12 + k of pixels 4 i to 4 i + 3.
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m512i a = _mm512_maskz_shuffle_i32x4(0xFFFF, r[k], r[4 + k], 0x88);
    const __m512i b = _mm512_maskz_shuffle_i32x4(0xFFFF, r[k], r[4 + k], 0xDD);
    const __m512i c = _mm512_maskz_shuffle_i32x4(0xFFFF, r[8 + k], r[12 + k], 0x88);
    const __m512i d = _mm512_maskz_shuffle_i32x4(0xFFFF, r[8 + k], r[12 + k], 0xDD);
    _mm512_storeu_si512(to + k * step, _mm512_maskz_shuffle_i32x4(0xFFFF, a, c, 0x88));
    _mm512_storeu_si512(to + (8 + k) * step, _mm512_maskz_shuffle_i32x4(0xFFFF, a, c, 0xDD));
    _mm512_storeu_si512(to + (4 + k) * step, _mm512_maskz_shuffle_i32x4(0xFFFF, b, d, 0x88));
    _mm512_storeu_si512(to + (12 + k) * step, _mm512_maskz_shuffle_i32x4(0xFFFF, b, d, 0xDD));
  }
}

/// 16 channels of all pixels.
[[gnu::target("avx512f,avx512bw,avx512vl")]] void TurnChannels(const TurnedRow& row, int64_t from,
                                                               __mmask16 some, uint32_t* to) {
  const uint16_t* first = row.first + from;
  const uint16_t* second = row.second ? row.second + from : nullptr;
  for (int64_t p = 0; p < row.pixels; p += kTile) {
    __m512i cells[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const bool inside = p + i >= row.begin && p + i < row.end;
      const int64_t at = (p + i) * row.step;
      cells[i] =
          inside ? Cells(first + at, second ? second + at : nullptr, some) : _mm512_setzero_si512();
    }
    StoreTurned(cells, to + p, row.channel);
  }
}

}  // namespace

// Not inlined: the compiler does not know that loading a tile reads memory.
[[gnu::noinline]] void SumAmx(const AmxBlock& b) {
  if (b.channels > 1)
    b.outputs > 1 ? Sum<2, 2>(b) : Sum<2, 1>(b);
  else
    b.outputs > 1 ? Sum<1, 2>(b) : Sum<1, 1>(b);
}

[[gnu::target("amx-tile")]] void BeginAmx() { _tile_loadconfig(&kConfig); }

[[gnu::target("amx-tile")]] void EndAmx() { _tile_release(); }

void TurnRow(const TurnedRow& row) {
  for (int64_t c = 0; c < row.channels; c += kTile) {
    uint32_t* to = row.to + c * row.channel;
    const int64_t left = row.channels - c;
    const auto some = static_cast<__mmask16>(left >= kTile ? 0xFFFF : (1U << left) - 1);
    if (row.first) {
      TurnChannels(row, c, some, to);
    } else {
      for (int64_t i = 0; i < kTile; ++i) std::fill_n(to + i * row.channel, row.pixels, 0);
    }
  }
}

}  // namespace yoke::cpu
