// Draws random crops.
#include "data/resized_crop.h"

#include <cmath>

namespace yoke {
namespace {

constexpr int kTries = 10;
constexpr double kWidest = 4.0 / 3.0;  // width / height; the narrowest is its inverse

int32_t DrawStart(Random& random, int64_t room) {
  return static_cast<int32_t>(random.Below(static_cast<uint64_t>(room) + 1));
}

}  // namespace

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
