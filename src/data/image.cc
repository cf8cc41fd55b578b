// Detects the kind of an image, which jpeg.cc or png.cc decodes, and resizes images.
#include "data/image.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace yoke {
namespace {

// New pixel i is the sum of weights[j] * old pixel (first + j).
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;  // their sum is 1
};

std::vector<Taps> MakeTaps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);  // half the width of the triangle, in old pixels
  std::vector<Taps> all(to);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto last = std::min<int64_t>(from, std::llround(centre + reach));
    all[i].first = std::max<int64_t>(0, std::llround(centre - reach));
    double sum = 0;
    for (int64_t j = all[i].first; j < last; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - centre);
      all[i].weights.push_back(static_cast<float>(std::max(0.0, 1 - distance / reach)));
      sum += all[i].weights.back();
    }
    for (float& weight : all[i].weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

// [height, width, channels] -> [height, new width, channels]
std::vector<float> ResizeRows(const Image& image, const std::vector<Taps>& taps) {
  const int channels = image.channels;
  const int64_t width = image.size.width;
  std::vector<float> result(image.size.height * taps.size() * channels);
  float* out = result.data();
  for (int64_t y = 0; y < image.size.height; ++y) {
    const uint8_t* row = image.pixels.data() + y * width * channels;
    for (const Taps& tap : taps) {
      for (int c = 0; c < channels; ++c) {
        const uint8_t* in = row + tap.first * channels + c;
        float sum = 0;
        for (const float weight : tap.weights) sum += weight * *in, in += channels;
        *out++ = sum;
      }
    }
  }
  return result;
}

// [height, stride] -> [new height, stride], rounded
std::vector<uint8_t> ResizeColumns(const std::vector<float>& rows, int64_t stride,
                                   const std::vector<Taps>& taps) {
  std::vector<uint8_t> result;
  result.reserve(taps.size() * stride);
  std::vector<float> sum(stride);
  for (const Taps& tap : taps) {
    std::fill(sum.begin(), sum.end(), 0.5F);
    for (size_t j = 0; j < tap.weights.size(); ++j) {
      const float* row = rows.data() + (tap.first + static_cast<int64_t>(j)) * stride;
      for (int64_t x = 0; x < stride; ++x) sum[x] += tap.weights[j] * row[x];
    }
    for (const float value : sum)
      result.push_back(static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)));
  }
  return result;
}

}  // namespace

ImageKind KindOfImage(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8\xFF")) return ImageKind::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return ImageKind::kPng;
  return ImageKind::kNone;
}

std::string_view ForeignImage(std::string_view bytes) {
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "GIF";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "WebP";
  if (bytes.starts_with(std::string_view("II*\0", 4)) ||
      bytes.starts_with(std::string_view("MM\0*", 4)))
    return "TIFF";
  constexpr size_t kReserved = 6, kHeader = 14, kLeast = 18;  // places in a BMP file
  if (bytes.size() >= kLeast && bytes.starts_with("BM") &&
      bytes.substr(kReserved, 4) == std::string_view("\0\0\0\0", 4) &&
      bytes.substr(kHeader + 1, 3) == std::string_view("\0\0\0", 3))
    return "BMP";
  return "";
}

void CheckImageSize(const ImageSize& size, const std::string& name) {
  Require(size.height > 0 && size.width > 0, "{}: damaged image (a side of length 0)", name);
  Require(size.height <= kMaxPixels / size.width,
          "{}: an image of {}x{} pixels; expected at most {} million pixels", name, size.width,
          size.height, kMaxPixels / 1'000'000);
}

Image DecodeImage(std::string_view bytes, const std::string& name, const DecodeRequest& request) {
  switch (KindOfImage(bytes)) {
    case ImageKind::kJpeg:
      return DecodeJpeg(bytes, name, request);
    case ImageKind::kPng:
      return DecodePng(bytes, name, request);
    case ImageKind::kNone:
      break;
  }
  Require(
      ForeignImage(bytes).empty(),
      "{}: a {} image; expected JPEG or PNG: convert it, for example by `mogrify -format png` of "
      "ImageMagick",
      name, ForeignImage(bytes));
  throw UserError(
      fmt::format("{}: {}; expected a JPEG or PNG image", name,
                  bytes.empty() ? "the file is empty" : "neither a JPEG nor a PNG image"));
}

Image Resize(const Image& image, const ImageSize& size) {
  if (image.size == size) return image;
  const std::vector<float> rows = ResizeRows(image, MakeTaps(image.size.width, size.width));
  return {.size = size,
          .channels = image.channels,
          .pixels = ResizeColumns(rows, size.width * image.channels,
                                  MakeTaps(image.size.height, size.height))};
}

}  // namespace yoke
