// Sums of products of bf16 pixels in AMX's tiles: blocks of 32 input by 32 output channels.
#pragma once

#include <cstdint>

namespace yoke::cpu {

inline constexpr int64_t kTile = 16;  ///< Rows of a tile, and 4-byte cells in a row.

/// sums[c][o] += sum over pixels of x[c][pixel] * y[pixel][o], for up to two tiles of channels and
/// up to two of outputs. A cell holds a pixel of two images, whose products are added.
struct AmxBlock {
  const uint32_t* x = nullptr;  ///< Cell of channel c and pixel p at c * x_channel + p.
  const uint32_t* y = nullptr;  ///< Of pixel p and output o at p * y_pixel + o.
  int64_t x_channel = 0, y_pixel = 0;
  int64_t images = 1, x_image = 0, y_image = 0;  ///< Of as many pixels each, and their strides.
  int64_t pixels = 0;                            ///< A multiple of kTile.
  float* sums = nullptr;                         ///< Row c at c * sums_step.
  int64_t sums_step = 0;
  bool first = false;             ///< Sums are written, not added to.
  int channels = 2, outputs = 2;  ///< Tiles.
};
void SumAmx(const AmxBlock& block);

/// Tiles belong to a thread: it calls SumAmx between these two.
void BeginAmx();
void EndAmx();

/// Cells of a row of pixels of two images, turned: channel by channel instead of pixel by pixel.
struct TurnedRow {
  const uint16_t* first = nullptr;   ///< bf16 of the first pixel wanted; null: all are zeros.
  const uint16_t* second = nullptr;  ///< The same pixel of the second image; null: zeros.
  int64_t step = 0;                  ///< From pixel to pixel, in elements.
  int64_t pixels = 0;                ///< Cells written for each channel.
  int64_t begin = 0, end = 0;        ///< Those of them that are inside the image; others are zeros.
  int64_t channels = 0;              ///< That exist; up to a multiple of kTile, others are zeros.
  uint32_t* to = nullptr;            ///< Cell of channel c and pixel p at c * channel + p. Up to 15
                                     ///< cells after the last pixel are written too.
  int64_t channel = 0;
};
void TurnRow(const TurnedRow& row);

}  // namespace yoke::cpu
