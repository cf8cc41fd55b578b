// Image changes: in double precision, rounded to bytes once.
#include "data/image_changes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yoke {
namespace {

uint8_t ToByte(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

/// The share of each channel in a pixel's grey: Rec. 601 for colours.
double GreyPart(int64_t channels, int64_t channel) {
  constexpr double kParts[] = {0.299, 0.587, 0.114};
  return channels == 3 ? kParts[channel] : 1.0 / static_cast<double>(channels);
}

std::vector<double> GreyOf(const BytesOfImage& image) {
  const int64_t channels = image.shape[0], pixels = image.shape.Count() / channels;
  std::vector<double> grey(static_cast<size_t>(pixels));
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t p = 0; p < pixels; ++p)
      grey[p] += GreyPart(channels, c) * image.bytes[c * pixels + p];
  return grey;
}

double MeanOf(const std::vector<double>& grey) {
  double sum = 0;
  for (const double value : grey) sum += value;
  return sum / static_cast<double>(grey.size());
}

/// Bilinear; outside is 0.
double At(const uint8_t* plane, int64_t height, int64_t width, double y, double x) {
  const double top = std::floor(y), left = std::floor(x);
  double sum = 0;
  for (int dy = 0; dy < 2; ++dy)
    for (int dx = 0; dx < 2; ++dx) {
      const auto row = static_cast<int64_t>(top) + dy, column = static_cast<int64_t>(left) + dx;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      sum += (dy ? y - top : 1 - y + top) * (dx ? x - left : 1 - x + left) *
             plane[row * width + column];
    }
  return sum;
}

constexpr int kTries = 10;
constexpr double kWidest = 4.0 / 3.0;  // width / height; the narrowest is its inverse

int32_t DrawStart(Random& random, int64_t room) {
  return static_cast<int32_t>(random.Below(static_cast<uint64_t>(room) + 1));
}

}  // namespace

void Rotate(const BytesOfImage& image, double degrees) {
  const int64_t height = image.shape[1], width = image.shape[2];
  const double angle = degrees * M_PI / 180, cosine = std::cos(angle), sine = std::sin(angle);
  const double middle_y = double(height - 1) / 2, middle_x = double(width - 1) / 2;
  std::vector<uint8_t> from(static_cast<size_t>(height * width));
  for (int64_t c = 0; c < image.shape[0]; ++c) {
    uint8_t* const plane = image.bytes.data() + c * height * width;
    std::copy_n(plane, from.size(), from.begin());
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const double down = double(y) - middle_y, right = double(x) - middle_x;
        plane[y * width + x] =
            ToByte(At(from.data(), height, width, middle_y + cosine * down + sine * right,
                      middle_x - sine * down + cosine * right));
      }
  }
}

void FlipVertically(const BytesOfImage& image) {
  const int64_t height = image.shape[1], width = image.shape[2];
  for (int64_t c = 0; c < image.shape[0]; ++c)
    for (int64_t y = 0; y < height / 2; ++y) {
      uint8_t* const plane = image.bytes.data() + c * height * width;
      std::swap_ranges(plane + y * width, plane + (y + 1) * width,
                       plane + (height - 1 - y) * width);
    }
}

void ChangeColours(const BytesOfImage& image, const ColourFactors& factors) {
  const std::vector<double> grey = GreyOf(image);
  const double mean = MeanOf(grey);
  const int64_t channels = image.shape[0];
  const auto pixels = std::ssize(grey);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t p = 0; p < pixels; ++p) {
      uint8_t& byte = image.bytes[c * pixels + p];
      double value = factors.saturation * byte + (1 - factors.saturation) * grey[p];
      value = factors.contrast * value + (1 - factors.contrast) * mean;
      byte = ToByte(factors.brightness * value);
    }
}

void CutOut(const BytesOfImage& image, int64_t side, int64_t y, int64_t x) {
  const int64_t height = image.shape[1], width = image.shape[2];
  const uint8_t grey = ToByte(MeanOf(GreyOf(image)));
  const int64_t top = std::max<int64_t>(y - side / 2, 0), left = std::max<int64_t>(x - side / 2, 0);
  const int64_t bottom = std::min(y - side / 2 + side, height),
                right = std::min(x - side / 2 + side, width);
  for (int64_t c = 0; c < image.shape[0]; ++c)
    for (int64_t row = top; row < bottom; ++row)
      for (int64_t column = left; column < right; ++column)
        image.bytes[(c * height + row) * width + column] = grey;
}

void Mix(std::span<uint8_t> image, std::span<const uint8_t> other, double part) {
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = ToByte(part * image[i] + (1 - part) * other[i]);
}

ImageCrop DrawCrop(Random& random, double least_area, int64_t height, int64_t width) {
  const double log_widest = std::log(kWidest);
  for (int i = 0; i < kTries; ++i) {
    const double area = random.Uniform(least_area, 1) * static_cast<double>(height * width);
    const double ratio = std::exp(random.Uniform(-log_widest, log_widest));
    const int64_t w = std::llround(std::sqrt(area * ratio));
    const int64_t h = std::llround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int32_t top = DrawStart(random, height - h);
    return {.top = top,
            .left = DrawStart(random, width - w),
            .height = static_cast<int32_t>(h),
            .width = static_cast<int32_t>(w)};
  }
  return {.height = static_cast<int32_t>(height), .width = static_cast<int32_t>(width)};
}

}  // namespace yoke
