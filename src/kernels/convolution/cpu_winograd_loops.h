// The loops of the Winograd transforms F(4x4, 3x3) and F(3x3, 4x4), for 8 or 16 lanes of channels.
// Both use the points 0, 1, -1, 2, -2 and infinity (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016). They call nothing from the standard library: see wide.h.
#pragma once

#include "kernels/convolution/cpu_winograd_tiles.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

/// B^T: evaluates six input pixels at the six points.
struct PatchLine {
  static constexpr int kIn = 6, kOut = 6;
  template <typename V>
  [[gnu::always_inline]] static void Apply(const V* d, int s, V* t, int o) {
    const V even = d[4 * s] - 4 * d[2 * s], odd = d[3 * s] - 4 * d[s];
    const V even2 = d[4 * s] - d[2 * s], odd2 = 2 * (d[3 * s] - d[s]);
    t[0] = 4 * d[0] - 5 * d[2 * s] + d[4 * s];
    t[o] = even + odd;
    t[2 * o] = even - odd;
    t[3 * o] = even2 + odd2;
    t[4 * o] = even2 - odd2;
    t[5 * o] = 4 * d[s] - 5 * d[3 * s] + d[5 * s];
  }
};

/// G: evaluates three weights at the points.
struct KernelLine {
  static constexpr int kIn = 3, kOut = 6;
  template <typename V>
  [[gnu::always_inline]] static void Apply(const V* g, int s, V* u, int o) {
    const V even = (g[0] + g[2 * s]) * (-1 / 6.0F), odd = g[s] * (-1 / 6.0F);
    const V even2 = g[0] * (1 / 24.0F) + g[2 * s] * (1 / 6.0F), odd2 = g[s] * (1 / 12.0F);
    u[0] = g[0] * 0.25F;
    u[o] = even + odd;
    u[2 * o] = even - odd;
    u[3 * o] = even2 + odd2;
    u[4 * o] = even2 - odd2;
    u[5 * o] = g[2 * s];
  }
};

/// G for a kernel of four: the output's gradient, when computing weight gradients.
struct GradientLine {
  static constexpr int kIn = 4, kOut = 6;
  template <typename V>
  [[gnu::always_inline]] static void Apply(const V* g, int s, V* u, int o) {
    const V even = (g[0] + g[2 * s]) * (-1 / 6.0F), odd = (g[s] + g[3 * s]) * (-1 / 6.0F);
    const V even2 = g[0] * (1 / 24.0F) + g[2 * s] * (1 / 6.0F);
    const V odd2 = g[s] * (1 / 12.0F) + g[3 * s] * (1 / 3.0F);
    u[0] = g[0] * 0.25F;
    u[o] = even + odd;
    u[2 * o] = even - odd;
    u[3 * o] = even2 + odd2;
    u[4 * o] = even2 - odd2;
    u[5 * o] = g[3 * s];
  }
};

/// A^T: transforms the points back to Out values.
template <int Out>
struct OutputLine {
  static constexpr int kIn = 6, kOut = Out;
  template <typename V>
  [[gnu::always_inline]] static void Apply(const V* m, int s, V* y, int o) {
    const V sum = m[s] + m[2 * s], difference = m[s] - m[2 * s];
    const V sum2 = m[3 * s] + m[4 * s], difference2 = m[3 * s] - m[4 * s];
    y[0] = m[0] + sum + sum2;
    y[o] = difference + 2 * difference2;
    y[2 * o] = sum + 4 * sum2;
    if constexpr (Out == 3)
      y[2 * o] += m[5 * s];
    else
      y[3 * o] = difference + 8 * difference2 + m[5 * s];
  }
};

/// Transforms a square along its columns, then along its rows.
template <typename Line, typename V>
[[gnu::always_inline]] inline void Square(const V* x, V* y) {
  V t[Line::kOut * Line::kIn];
  for (int j = 0; j < Line::kIn; ++j) Line::Apply(x + j, Line::kIn, t + j, Line::kIn);
  for (int i = 0; i < Line::kOut; ++i) Line::Apply(t + i * Line::kIn, 1, y + i * Line::kOut, 1);
}

/// The position of a tile.
struct TilePlace {
  int64_t image, y, x;
  [[gnu::always_inline]] TilePlace(const WinogradTiles& tiles, int64_t tile) {
    const int64_t of_image = tiles.rows * tiles.columns, rest = tile % of_image;
    image = tile / of_image;
    y = rest / tiles.columns * kWinogradStep - tiles.row_padding;
    x = rest % tiles.columns * kWinogradStep - tiles.column_padding;
  }
};

template <typename Line, int Lanes>
[[gnu::always_inline]] inline void ImageToPoints(const WinogradPass& given) {
  using V = typename Wide<Lanes>::Floats;
  constexpr int kSide = Line::kIn;
  const WinogradPass p = given;  // a copy that no store can change
  const WinogradTiles& t = p.tiles;
  for (int64_t tile = p.begin; tile < p.end; ++tile) {
    const TilePlace at(t, p.first + tile);
    const float* image = p.from + at.image * t.height * t.width * t.channels;
    for (int64_t c = 0; c < t.channels; c += Lanes) {
      V pixels[kSide * kSide], points[kWinogradPoints];
      for (int i = 0; i < kSide; ++i)
        for (int j = 0; j < kSide; ++j) {
          const int64_t y = at.y + i, x = at.x + j;
          if (y >= 0 && y < t.height && x >= 0 && x < t.width)
            Wide<Lanes>::Load(image + (y * t.width + x) * t.channels + c, pixels[i * kSide + j]);
          else
            pixels[i * kSide + j] = V{};
        }
      Square<Line>(pixels, points);
      for (int64_t k = 0; k < kWinogradPoints; ++k)
        Wide<Lanes>::Store(points[k], p.to + (k * p.chunk + tile) * t.channels + c);
    }
  }
}

template <int Lanes>
[[gnu::always_inline]] inline void PointsToImage(const WinogradPass& given) {
  using V = typename Wide<Lanes>::Floats;
  const WinogradPass p = given;
  const WinogradTiles& t = p.tiles;
  for (int64_t tile = p.begin; tile < p.end; ++tile) {
    const TilePlace at(t, p.first + tile);
    float* image = p.to + at.image * t.height * t.width * t.channels;
    const int64_t rows = t.height - at.y < 4 ? t.height - at.y : 4;
    const int64_t columns = t.width - at.x < 4 ? t.width - at.x : 4;
    for (int64_t c = 0; c < t.channels; c += Lanes) {
      V points[kWinogradPoints], pixels[16], bias = {};
      for (int64_t k = 0; k < kWinogradPoints; ++k)
        Wide<Lanes>::Load(p.from + (k * p.chunk + tile) * t.channels + c, points[k]);
      Square<OutputLine<4>>(points, pixels);
      if (p.bias) Wide<Lanes>::Load(p.bias + c, bias);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          V v = pixels[i * 4 + j] + bias;
          if (p.relu) v = v < 0 ? V{} : v;  // keeps NaN
          Wide<Lanes>::Store(v, image + ((at.y + i) * t.width + at.x + j) * t.channels + c);
        }
    }
  }
}

template <int Lanes>
[[gnu::always_inline]] inline void KernelsToPoints(const WinogradKernels& given) {
  using V = typename Wide<Lanes>::Floats;
  const WinogradKernels k = given;
  for (int64_t a = k.begin; a < k.end; ++a)
    for (int64_t b = 0; b < k.columns; b += Lanes) {
      float elements[9][Lanes];
      for (int lane = 0; lane < Lanes; ++lane) {
        const float* w = k.weight + a * k.a_step + (b + lane) * k.b_step;
        for (int i = 0; i < 9; ++i) elements[i][lane] = w[k.turned ? 8 - i : i];
      }
      V weights[9], points[kWinogradPoints];
      for (int i = 0; i < 9; ++i) Wide<Lanes>::Load(elements[i], weights[i]);
      Square<KernelLine>(weights, points);
      for (int64_t i = 0; i < kWinogradPoints; ++i)
        Wide<Lanes>::Store(points[i], k.points + (i * k.rows + a) * k.columns + b);
    }
}

/// One block of columns at a time, so that neighbouring rows write to the same cache lines.
template <int Lanes>
[[gnu::always_inline]] inline void PointsToKernels(const WinogradKernels& given) {
  using V = typename Wide<Lanes>::Floats;
  const WinogradKernels k = given;
  for (int64_t b = 0; b < k.columns; b += Lanes)
    for (int64_t a = k.begin; a < k.end; ++a) {
      V points[kWinogradPoints], weights[9];
      for (int64_t i = 0; i < kWinogradPoints; ++i)
        Wide<Lanes>::Load(k.points + (i * k.rows + a) * k.columns + b, points[i]);
      Square<OutputLine<3>>(points, weights);
      float elements[9][Lanes];
      for (int i = 0; i < 9; ++i) Wide<Lanes>::Store(weights[i], elements[i]);
      for (int lane = 0; lane < Lanes; ++lane) {
        float* w = k.weight + a * k.a_step + (b + lane) * k.b_step;
        for (int i = 0; i < 9; ++i) w[i] = elements[i][lane];
      }
    }
}

}  // namespace
}  // namespace yoke::cpu
