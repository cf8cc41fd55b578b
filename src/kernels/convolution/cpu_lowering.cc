// Lowering: with channels last, a row of a window is one run of elements when there is one group.
#include "kernels/convolution/cpu_lowering.h"

#include <algorithm>

namespace yoke::cpu {

Lowering::Lowering(const ConvolutionShape& shape, int64_t group)
    : s_(shape),
      out_(shape.Output()),
      first_(group * (shape.channels / shape.groups)),
      channels_(shape.channels / shape.groups),
      run_(shape.columns.size * channels_) {}

/// Calls copy(offset in the rows, offset in the image or -1 where it is outside, count).
template <typename Copy>
void Lowering::ForEachRun(const Copy& copy) const {
  const bool whole = s_.groups == 1 && s_.columns.dilation == 1;  // a row of a window is one run
  int64_t at = 0;
  for (int64_t row = 0; row < out_[2]; ++row)
    for (int64_t column = 0; column < out_[3]; ++column)
      for (int64_t i = 0; i < s_.rows.size; ++i, at += run_) {
        const int64_t y = row * s_.rows.stride + i * s_.rows.dilation - s_.rows.padding,
                      x = column * s_.columns.stride - s_.columns.padding;
        const bool inside = y >= 0 && y < s_.height;
        if (inside && whole && x >= 0 && x + s_.columns.size <= s_.width) {
          copy(at, (y * s_.width + x) * s_.channels, run_);
          continue;
        }
        for (int64_t j = 0; j < s_.columns.size; ++j) {
          const int64_t tap = x + j * s_.columns.dilation;
          const bool in = inside && tap >= 0 && tap < s_.width;
          const int64_t from = (y * s_.width + tap) * s_.channels + first_;
          copy(at + j * channels_, in ? from : -1, channels_);
        }
      }
}

void Lowering::Lower(const float* image, float* rows) const {
  ForEachRun([&](int64_t at, int64_t from, int64_t count) {
    if (from < 0)
      std::fill_n(rows + at, count, 0.0F);
    else
      std::copy_n(image + from, count, rows + at);
  });
}

void Lowering::AddBack(const float* rows, float* image) const {
  ForEachRun([&](int64_t at, int64_t from, int64_t count) {
    for (int64_t i = 0; from >= 0 && i < count; ++i) image[from + i] += rows[at + i];
  });
}

/// Calls take(place in the weights, place in the packed ones).
template <typename Take>
void Lowering::ForEachWeight(const Take& take) const {
  const int64_t taps = s_.rows.size * s_.columns.size;
  for (int64_t o = 0; o < s_.outputs; ++o)
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t t = 0; t < taps; ++t)
        take((o * channels_ + c) * taps + t, (o * taps + t) * channels_ + c);
}

void Lowering::PackWeights(const float* weights, float* packed) const {
  ForEachWeight([&](int64_t plain, int64_t place) { packed[place] = weights[plain]; });
}

void Lowering::AddWeights(const float* packed, float* weights) const {
  ForEachWeight([&](int64_t plain, int64_t place) { weights[plain] += packed[place]; });
}

}  // namespace yoke::cpu
