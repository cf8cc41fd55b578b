// Winograd's transforms F(4x4, 3x3): what a thread computes, and where the loops are.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Points of a transformed tile.
inline constexpr int64_t kWinogradPoints = 36;
/// Pixels along an axis that a tile gives.
inline constexpr int64_t kWinogradStep = 4;

/// How a batch of images [batch, height, width, channels] is cut: tile (y, x) begins at pixel
/// (4 y - padding, 4 x - padding); what lies outside is zero, or is not written.
struct WinogradTiles {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t row_padding = 0, column_padding = 0;
  int64_t rows = 0, columns = 0;  ///< Tiles of an image.

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

/// A kernel of 3x3 numbers for each pair (a, b), at weight[a * a_step + b * b_step]; its points
/// are at points[36][rows][columns] with a as row. Only the rows [begin, end) are computed.
struct WinogradKernels {
  float* weight = nullptr;
  int64_t a_step = 0, b_step = 0;
  int64_t rows = 0, columns = 0;
  bool turned = false;  ///< By 180 degrees.
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

/// The fastest loops of this CPU.
WinogradLoops WinogradLoopsFor();
/// Those of AVX-512, which the machine must have.
WinogradLoops WinogradLoopsAvx512();

}  // namespace yoke::cpu
