// Tiles of a convolution's weight gradient: sums of products of input channels and output channels
// over a rectangle of pixels, kept in registers (AVX-512; bf16 by its dot products).
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke::cpu {

inline constexpr int kLanes = 16;      ///< Output channels in a register.
inline constexpr int kMostLanes = 64;  ///< Output channels of a tile, at most.

/// A line of memory for each pixel of a tile, which it fetches into the second cache meanwhile, one
/// a pixel: many at once would wait for each other. Steps in bytes.
struct Fetched {
  const char* line = nullptr;
  int64_t image = 0, row = 0, column = 0;
};

/// sums[c][o] += sum over the rectangle of x[pixel][c] * y[pixel][o]. A cell is 4 bytes: an f32, or
/// the bf16 numbers of two pixels, which are multiplied and added pair by pair.
struct Tile {
  const void* x = nullptr;
  const void* y = nullptr;
  int64_t images = 0, rows = 0, columns = 0;     ///< Of the rectangle, in cells.
  int64_t x_image = 0, x_row = 0, x_column = 0;  ///< Steps of x, in cells.
  int64_t y_image = 0, y_row = 0;                ///< Steps of y; its columns are dense.
  float* sums = nullptr;                         ///< Row c at c * sums_step.
  int64_t sums_step = 0;
  bool first = false;  ///< Sums are written, not added to.
  Fetched fetched;
};

/// Pixels whose output channels become the cells of a tile's y: `lanes` cells a pixel (a multiple
/// of kLanes), the first `real` from memory, the rest zeros.
struct LaneRun {
  const void* first = nullptr;   ///< Numbers of the first pixel; the next are `step` numbers away.
  const void* second = nullptr;  ///< bf16: the same pixels of another image, or null for zeros.
  int64_t step = 0, pixels = 0;
  int64_t real = 0, lanes = 0;
  void* to = nullptr;
};
void PackLanes(DType type, const LaneRun& run);

using TileFunction = void (*)(const Tile& tile);

/// Whether the CPU (as the kernel library is allowed to see it) runs tiles of this type.
bool RunsTiles(DType type);
/// How many input channels a tile of so many output channels (a multiple of kLanes) may have.
int MostTileChannels(int outputs);
/// The tile of `channels` input and `outputs` output channels.
TileFunction FindTile(DType type, int channels, int outputs);

}  // namespace yoke::cpu
