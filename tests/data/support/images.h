// Images of a test: made from a formula, encoded as JPEG or PNG files in memory.
#pragma once

#include <functional>
#include <string>

#include "data/image.h"

namespace yoke::testing_support {

/// An image of `size` whose value at (row, column, channel) is pixel(...).
Image MakeImage(const ImageSize& size, int channels,
                const std::function<int(int64_t row, int64_t column, int channel)>& pixel);

/// An image of one colour (or grey: r).
Image PlainImage(const ImageSize& size, int r, int g, int b);

std::string Png(const Image& image);
/// Four channels are written as CMYK, with Adobe's marker or without.
std::string Jpeg(const Image& image, int quality = 95, bool adobe = false);

/// A PNG file whose head promises this size; what follows is a few bytes.
std::string PngThatPromises(uint32_t height, uint32_t width);
/// A whole JPEG file of 8x8 pixels whose head promises this size.
std::string JpegThatPromises(uint16_t height, uint16_t width);

}  // namespace yoke::testing_support
