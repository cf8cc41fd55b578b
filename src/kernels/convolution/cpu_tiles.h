// Tiles of a convolution's weight gradient: sums over a rectangle of pixels of products of input
// and output channels, kept in registers (bf16 with AVX-512's dot-product instruction).
#pragma once

#include <cstdint>

#include "tensor/types.h"

namespace yoke::cpu {

inline constexpr int kLanes = 16;  ///< Output channels that a tile has a multiple of.

/// Cache lines that a tile prefetches into L2 while it computes, one per pixel: more at a time
/// would wait for each other. Steps are in bytes.
struct Fetched {
  const char* line = nullptr;
  int64_t image = 0, row = 0, column = 0;
};

/// sums[c][o] += sum over the rectangle of x[pixel][c] * y[pixel][o]. A cell is 4 bytes: an f32, or
/// the bf16 values of two pixels, which are multiplied and added in pairs.
struct Tile {
  const void* x = nullptr;
  const void* y = nullptr;
  int64_t images = 0, rows = 0, columns = 0;     ///< Size of the rectangle in cells.
  int64_t x_image = 0, x_row = 0, x_column = 0;  ///< Strides of x in cells.
  int64_t y_image = 0, y_row = 0;                ///< Strides of y; its columns are contiguous.
  float* sums = nullptr;                         ///< Row c at c * sums_step.
  int64_t sums_step = 0;
  bool first = false;  ///< Sums are written, not added to.
  Fetched fetched;
};

/// Pixels whose output channels become the cells of a tile's y: `lanes` cells per pixel (a multiple
/// of kLanes), the first `real` from memory, the rest zero.
struct LaneRun {
  const void* first = nullptr;   ///< Elements of the first pixel; pixels are `step` elements apart.
  const void* second = nullptr;  ///< bf16: the same pixels of another image, or null for zeros.
  int64_t step = 0, pixels = 0;
  int64_t real = 0, lanes = 0;
  void* to = nullptr;
};
void PackLanes(DType type, const LaneRun& run);

using TileFunction = void (*)(const Tile& tile);

/// Whether the CPU, within the limits set for the kernel library, supports tiles of this type.
bool RunsTiles(DType type);
/// Maximum number of output channels in a tile.
int MostTileLanes();
/// Maximum number of input channels in a tile with this many output channels (a multiple of
/// kLanes).
int MostTileChannels(int outputs);
/// The tile function for `channels` input and `outputs` output channels.
TileFunction FindTile(DType type, int channels, int outputs);

/// The same for AVX-512, which the CPU must support.
void PackLanesAvx512(DType type, const LaneRun& run);
int MostTileChannelsAvx512(int outputs);
TileFunction FindTileAvx512(DType type, int channels, int outputs);

}  // namespace yoke::cpu
