// Draws and stretches random crops. The crop is no larger than the image, so no pixel is skipped.
#include "data/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yoke {
namespace {

constexpr int kTries = 10;
constexpr double kWidest = 4.0 / 3.0;  // width / height; the narrowest is its inverse

int64_t DrawStart(Random& random, int64_t room) {
  return static_cast<int64_t>(random.Below(static_cast<uint64_t>(room) + 1));
}

// A new pixel is (1 - next) * old pixel `first` + next * old pixel `second`.
struct Tap {
  int64_t first = 0;
  int64_t second = 0;
  float next = 0;
};

std::vector<Tap> TapsOf(int64_t start, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<Tap> taps;
  for (int64_t i = 0; i < to; ++i) {
    const double place = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto first = static_cast<int64_t>(place);
    taps.push_back({start + first, start + std::min(first + 1, from - 1),
                    static_cast<float>(place - static_cast<double>(first))});
  }
  return taps;
}

float Between(float first, float second, float next) { return first + next * (second - first); }

}  // namespace

Crop DrawCrop(Random& random, double least_area, int64_t height, int64_t width) {
  const double log_widest = std::log(kWidest);
  for (int i = 0; i < kTries; ++i) {
    const double area = random.Uniform(least_area, 1) * static_cast<double>(height * width);
    const double ratio = std::exp(random.Uniform(-log_widest, log_widest));
    const int64_t w = std::llround(std::sqrt(area * ratio));
    const int64_t h = std::llround(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int64_t top = DrawStart(random, height - h);
    return {.top = top, .left = DrawStart(random, width - w), .height = h, .width = w};
  }
  return {.height = height, .width = width};
}

void StretchCrop(const Crop& crop, const float* from, int64_t height, int64_t width, float* to) {
  const std::vector<Tap> columns = TapsOf(crop.left, crop.width, width);
  for (const Tap& row : TapsOf(crop.top, crop.height, height)) {
    const float* upper = from + row.first * width;
    const float* lower = from + row.second * width;
    for (const Tap& column : columns)
      *to++ = Between(Between(upper[column.first], upper[column.second], column.next),
                      Between(lower[column.first], lower[column.second], column.next), row.next);
  }
}

}  // namespace yoke
