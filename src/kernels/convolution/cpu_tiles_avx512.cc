// Tiles of AVX-512: M input channels by V registers of 16 output channels.
#include <immintrin.h>

#include <array>
#include <utility>

#include "kernels/convolution/cpu_tiles.h"
#include "kernels/instructions.h"

namespace yoke::cpu {
namespace {

constexpr int kRegisters = 24;  // of sums; the other 8 hold y and a broadcast x
constexpr int kMostChannels = 12;

constexpr int MostChannels(int registers) {
  const int most = kRegisters / registers;
  return most < kMostChannels ? most : kMostChannels;
}

struct F32Cells {
  using Cell = float;
  [[gnu::target("avx512f"), gnu::always_inline]] static inline void Add(__m512& sum, const Cell* x,
                                                                        const __m512& y) {
    sum = _mm512_fmadd_ps(_mm512_set1_ps(*x), y, sum);
  }
};

struct Bf16Cells {
  using Cell = int32_t;
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline void Add(
      __m512& sum, const Cell* x, const __m512& y) {
    sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(*x), (__m512bh)y);
  }
};

struct F32Loads {
  [[gnu::target("avx512f"), gnu::always_inline]] static inline __m512i Load(const LaneRun& run,
                                                                            int64_t at,
                                                                            __mmask16 some) {
    return _mm512_maskz_loadu_epi32(some, static_cast<const float*>(run.first) + at);
  }
};

struct Bf16Loads {
  [[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] static inline __m512i Load(
      const LaneRun& run, int64_t at, __mmask16 some) {
    const __m512i low = Half(run.first, at, some);
    if (!run.second) return low;
    return _mm512_or_si512(low, _mm512_maskz_slli_epi32(0xFFFF, Half(run.second, at, some), 16));
  }
  [[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] static inline __m512i Half(
      const void* from, int64_t at, __mmask16 some) {
    return _mm512_maskz_cvtepu16_epi32(
        some, _mm256_maskz_loadu_epi16(some, static_cast<const uint16_t*>(from) + at));
  }
};

template <typename Loads>
YOKE_AVX512 void Pack(const LaneRun& given) {
  const LaneRun run = given;  // a copy that no store can change
  auto* to = static_cast<int32_t*>(run.to);
  for (int64_t pixel = 0; pixel < run.pixels; ++pixel)
    for (int64_t lane = 0; lane < run.lanes; lane += kLanes, to += kLanes) {
      const int64_t left = run.real - lane;
      const __mmask16 some = left >= kLanes ? 0xFFFF : left <= 0 ? 0 : (1U << left) - 1;
      _mm512_storeu_si512(to, Loads::Load(run, pixel * run.step + lane, some));
    }
}

template <typename Cells, int M, int V>
[[gnu::target("avx512f,avx512bf16,prefer-vector-width=512")]] void Sum(const Tile& t) {
  using Cell = typename Cells::Cell;
  __m512 sums[M][V];
#pragma GCC unroll 24
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
      sums[m][v] =
          t.first ? _mm512_setzero_ps() : _mm512_loadu_ps(t.sums + m * t.sums_step + v * kLanes);
  for (int64_t image = 0; image < t.images; ++image)
    for (int64_t row = 0; row < t.rows; ++row) {
      const Cell* x = static_cast<const Cell*>(t.x) + image * t.x_image + row * t.x_row;
      const float* y = static_cast<const float*>(t.y) + image * t.y_image + row * t.y_row;
      const char* line = t.fetched.line + image * t.fetched.image + row * t.fetched.row;
      for (int64_t column = 0; column < t.columns;
           ++column, x += t.x_column, y += V * kLanes, line += t.fetched.column) {
        _mm_prefetch(line, _MM_HINT_T1);
        __m512 values[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) values[v] = _mm512_loadu_ps(y + v * kLanes);
#pragma GCC unroll 24
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) Cells::Add(sums[m][v], x + m, values[v]);
      }
    }
#pragma GCC unroll 24
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) _mm512_storeu_ps(t.sums + m * t.sums_step + v * kLanes, sums[m][v]);
}

using Row = std::array<TileFunction, kMostChannels>;

template <typename Cells, int V, size_t... M>
constexpr Row MakeRow(std::index_sequence<M...> /*channels*/) {
  return {(static_cast<int>(M) < MostChannels(V) ? Sum < Cells,
           static_cast<int>(M) < MostChannels(V) ? static_cast<int>(M) + 1 : 1, V > : nullptr)...};
}

template <typename Cells, size_t... V>
constexpr std::array<Row, 4> MakeTable(std::index_sequence<V...> /*registers*/) {
  return {MakeRow<Cells, static_cast<int>(V) + 1>(std::make_index_sequence<kMostChannels>())...};
}

}  // namespace

int MostTileChannelsAvx512(int outputs) { return MostChannels(outputs / kLanes); }

void PackLanesAvx512(DType type, const LaneRun& run) {
  type == DType::kBf16 ? Pack<Bf16Loads>(run) : Pack<F32Loads>(run);
}

TileFunction FindTileAvx512(DType type, int channels, int outputs) {
  static constexpr auto kF32 = MakeTable<F32Cells>(std::make_index_sequence<4>());
  static constexpr auto kBf16 = MakeTable<Bf16Cells>(std::make_index_sequence<4>());
  return (type == DType::kBf16 ? kBf16 : kF32)[outputs / kLanes - 1][channels - 1];
}

}  // namespace yoke::cpu
