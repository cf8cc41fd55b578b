// The Winograd transforms F(4x4, 3x3): the work of one thread, and the functions that do it.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Points of a transformed tile.
inline constexpr int64_t kWinogradPoints = 36;
/// Output pixels of a tile along an axis.
inline constexpr int64_t kWinogradStep = 4;

/// Tiling of a batch of images [batch, height, width, channels]. Tile (y, x) starts at pixel (4 y -
/// padding, 4 x - padding); pixels outside the image are read as zero and not written.
struct WinogradTiles {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t row_padding = 0, column_padding = 0;
  int64_t rows = 0, columns = 0;  ///< Tiles per image.

  int64_t Count() const { return batch * rows * columns; }
};

/// The tiles [begin, end) of a chunk that starts at tile `first`.
struct WinogradPass {
  WinogradTiles tiles;
  int64_t first = 0, begin = 0, end = 0;
  const float* from = nullptr;  ///< Image, or points.
  float* to = nullptr;          ///< Points, or image.
  int64_t chunk = 0;            ///< Points are [36, chunk, channels].
  const float* bias = nullptr;  ///< [channels]; null: none.
  bool relu = false;
};

/// A 3x3 kernel for each pair (a, b), at weight[a * a_step + b * b_step]. Its points are at
/// points[36][rows][columns], with a as the row. Only the rows [begin, end) are computed.
struct WinogradKernels {
  float* weight = nullptr;
  int64_t a_step = 0, b_step = 0;
  int64_t rows = 0, columns = 0;
  bool turned = false;  ///< Rotated by 180 degrees.
  float* points = nullptr;
  int64_t begin = 0, end = 0;
};

struct WinogradLoops {
  void (*patches)(const WinogradPass&);              ///< 6x6 pixels -> points
  void (*gradients)(const WinogradPass&);            ///< 4x4 pixels -> points, as kernels of 4x4
  void (*outputs)(const WinogradPass&);              ///< points -> 4x4 pixels
  void (*kernels)(const WinogradKernels&);           ///< 3x3 weights -> points
  void (*kernel_gradients)(const WinogradKernels&);  ///< points -> 3x3 gradients
};

/// The fastest loops for this CPU.
WinogradLoops WinogradLoopsFor();
/// The AVX-512 loops; the CPU must support AVX-512.
WinogradLoops WinogradLoopsAvx512();

}  // namespace yoke::cpu
