// Tiles of M input channels by V registers of output channels: M * V sums, and for each pixel V
// loads and M broadcasts for M * V multiplications, so that loads never limit. Here a tile has two
// registers of 8 output channels; cpu_tiles_avx512.cc has those for AVX-512.
#include "kernels/convolution/cpu_tiles.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/vector.h"
#include "kernels/instructions.h"

namespace yoke::cpu {
namespace {

constexpr int kChannelsAvx2 = 6;  // 12 registers of sums

template <int M>
void SumAvx2(const Tile& t) {
  using Eight = Vector<8>;
  Eight::Floats sums[M][2];
#pragma GCC unroll 6
  for (int m = 0; m < M; ++m)
    for (int v = 0; v < 2; ++v)
      sums[m][v] = t.first ? Eight::Floats{} : Eight::Load(t.sums + m * t.sums_step + 8 * v);
  for (int64_t image = 0; image < t.images; ++image)
    for (int64_t row = 0; row < t.rows; ++row) {
      const float* x = static_cast<const float*>(t.x) + image * t.x_image + row * t.x_row;
      const float* y = static_cast<const float*>(t.y) + image * t.y_image + row * t.y_row;
      const char* line = t.fetched.line + image * t.fetched.image + row * t.fetched.row;
      for (int64_t column = 0; column < t.columns;
           ++column, x += t.x_column, y += kLanes, line += t.fetched.column) {
        __builtin_prefetch(line, 0, 2);
        const Eight::Floats low = Eight::Load(y), high = Eight::Load(y + 8);
#pragma GCC unroll 6
        for (int m = 0; m < M; ++m) {
          sums[m][0] += x[m] * low;
          sums[m][1] += x[m] * high;
        }
      }
    }
#pragma GCC unroll 6
  for (int m = 0; m < M; ++m)
    for (int v = 0; v < 2; ++v) Eight::Store(sums[m][v], t.sums + m * t.sums_step + 8 * v);
}

void PackAvx2(const LaneRun& run) {
  auto* to = static_cast<float*>(run.to);
  const auto* from = static_cast<const float*>(run.first);
  const int64_t real = std::clamp<int64_t>(run.real, 0, run.lanes);
  for (int64_t pixel = 0; pixel < run.pixels; ++pixel, from += run.step, to += run.lanes) {
    std::copy_n(from, real, to);
    std::fill(to + real, to + run.lanes, 0.0F);
  }
}

}  // namespace

bool RunsTiles(DType type) { return type == DType::kF32 || HasAvx512Bf16(); }

int MostTileLanes() { return HasAvx512() ? 4 * kLanes : kLanes; }

int MostTileChannels(int outputs) {
  return HasAvx512() ? MostTileChannelsAvx512(outputs) : kChannelsAvx2;
}

void PackLanes(DType type, const LaneRun& run) {
  HasAvx512() ? PackLanesAvx512(type, run) : PackAvx2(run);
}

TileFunction FindTile(DType type, int channels, int outputs) {
  static constexpr std::array<TileFunction, kChannelsAvx2> kAvx2 = {
      SumAvx2<1>, SumAvx2<2>, SumAvx2<3>, SumAvx2<4>, SumAvx2<5>, SumAvx2<6>};
  return HasAvx512() ? FindTileAvx512(type, channels, outputs) : kAvx2[channels - 1];
}

}  // namespace yoke::cpu
