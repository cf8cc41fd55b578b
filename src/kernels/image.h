// Image axes: sliding windows of convolutions and pools, and the position of a pixel in memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/tensor.h"

namespace yoke {

/// A window along one axis.
struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding = 0;       ///< On both sides.
  bool round_up = false;     ///< Include a last window that extends past the end, unless it starts
                             ///< beyond input and left padding.
  int64_t more_padding = 0;  ///< Additional padding at the end; may be negative.
  int64_t dilation = 1;      ///< Distance between taps; convolutions only.

  int64_t EndPadding() const { return padding + more_padding; }
  /// Length from the first tap to the last.
  int64_t Span() const { return (size - 1) * dilation + 1; }
  /// True for equal padding on both sides and no gaps between taps.
  bool IsPlain() const { return more_padding == 0 && dilation == 1; }

  /// Number of windows in `length`; 0 or less if none fits.
  int64_t Count(int64_t length) const {
    const int64_t room = length + padding + EndPadding() - Span();
    if (room < 0) return 0;
    int64_t count = (room + (round_up ? stride - 1 : 0)) / stride + 1;
    if (round_up && (count - 1) * stride >= length + padding) --count;
    return count;
  }
};

/// Offsets of elements in a [batch, channels, height, width] tensor of either layout.
class ImageIndex {
 public:
  ImageIndex(const Shape& shape, Layout layout) {
    const int64_t c = shape[1], h = shape[2], w = shape[3];
    image_ = c * h * w;
    channel_ = layout == Layout::kPlain ? h * w : 1;
    row_ = layout == Layout::kPlain ? w : w * c;
    column_ = layout == Layout::kPlain ? 1 : c;
  }
  int64_t operator()(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return n * image_ + c * channel_ + y * row_ + x * column_;
  }

 private:
  int64_t image_, channel_, row_, column_;
};

/// Memory order of an image [batch, channels, height, width]: a run of pixels for each channel, or,
/// channels-last, a run of channels for each pixel.
struct ImageRuns {
  int64_t channels, pixels;
  bool last;
  explicit ImageRuns(const Tensor& image)
      : channels(image.shape[1]),
        pixels(image.shape[2] * image.shape[3]),
        last(image.layout == Layout::kChannelsLast) {}
  int64_t count() const { return last ? pixels : channels; }
  int64_t length() const { return last ? channels : pixels; }
  int64_t image() const { return channels * pixels; }
};

}  // namespace yoke
