// Normalize: examples of many shapes on the host and on a device, and crops by hand.
#include "kernels/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/random.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::normalize_test {

constexpr int64_t kBatch = 5;

/// Bytes of as many examples, with scales and, of images, crops.
struct Drawn {
  Drawn(const Shape& of, bool by_channel, uint64_t seed) : shape(of) {
    Random random({seed});
    stored.resize(kBatch * shape.Count());
    for (uint8_t& byte : stored) byte = static_cast<uint8_t>(random.Below(256));
    channels = by_channel ? shape[0] : 1;
    for (int64_t i = 0; i < 3 * channels; ++i)
      scales.push_back(static_cast<float>(random.Normal()));
  }

  /// Mirrored or not, moved by less than its sides.
  void DrawShifts(uint64_t seed) {
    Random random({seed});
    const auto below = [&](int64_t n) { return static_cast<int32_t>(random.Below(n)); };
    for (int64_t i = 0; i < kBatch; ++i)
      crops.push_back({.top = below(2 * shape[1] - 1) - static_cast<int32_t>(shape[1]) + 1,
                       .left = below(2 * shape[2] - 1) - static_cast<int32_t>(shape[2]) + 1,
                       .height = static_cast<int32_t>(shape[1]),
                       .width = static_cast<int32_t>(shape[2]),
                       .mirrored = below(2)});
  }
  /// Smaller ones inside the image.
  void DrawParts(uint64_t seed) {
    DrawShifts(seed);
    for (ImageCrop& crop : crops) {
      crop.top = std::abs(crop.top), crop.left = std::abs(crop.left);
      crop.height -= crop.top, crop.width -= crop.left;
    }
  }

  std::vector<float> On(Device& device) const {
    const Buffer from = CopyOn(device, stored), of_scales = CopyOn(device, scales);
    const Buffer of_crops = CopyOn(device, crops);
    const Buffer to(device, std::ssize(stored) * SizeOf(DType::kF32));
    MakeNormalize({.device = &device, .stream = &device.stream()})
        ->Forward(
            {.stored = {.shape = shape.Batched(kBatch), .type = DType::kU8, .data = from.data()},
             .input = {.shape = shape.Batched(kBatch), .data = to.data()},
             .scales = {channels, of_scales.As<float>()},
             .crops = of_crops.As<ImageCrop>()});
    device.stream().Wait();
    return ValuesOf(AllOf<float>(to));
  }

  /// One after the other.
  std::vector<float> ByExample() const {
    std::vector<float> input(stored.size());
    for (int64_t i = 0; i < kBatch; ++i)
      NormalizeExample(stored.data() + i * shape.Count(), shape, {channels, scales.data()},
                       crops.empty() ? nullptr : &crops[i], input.data() + i * shape.Count());
    return input;
  }

  float Pixel(int64_t image, int64_t c, int64_t y, int64_t x) const {
    const int64_t channel = channels == 1 ? 0 : c;
    const bool inside = y >= 0 && y < shape[1] && x >= 0 && x < shape[2];
    if (!inside) return scales[2 * channels + channel];
    const int64_t column = crops[image].mirrored ? shape[2] - 1 - x : x;
    const uint8_t byte = stored[((image * shape[0] + c) * shape[1] + y) * shape[2] + column];
    return static_cast<float>(byte) * scales[channel] + scales[channels + channel];
  }

  Shape shape;
  std::vector<uint8_t> stored;
  int64_t channels;
  std::vector<float> scales;
  std::vector<ImageCrop> crops;
};

const Shape kShapes[] = {{1, 28, 28}, {3, 32, 32}, {3, 5, 17}, {2, 1, 9}, {4, 6, 1}};

void ExpectTheSameOnEveryDevice(const Drawn& drawn) {
  const std::vector<float> expected = drawn.ByExample();
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()})
    EXPECT_EQ(drawn.On(*device), expected) << device->name() << " " << drawn.shape.Text();
}

TEST(Normalize, WholeExamplesOnEveryDevice) {
  for (const bool by_channel : {false, true}) {
    for (const Shape& shape : kShapes)
      ExpectTheSameOnEveryDevice(Drawn(shape, by_channel, shape.Count()));
    ExpectTheSameOnEveryDevice(Drawn({7}, by_channel, 7));
  }
}

TEST(Normalize, PartsOnEveryDevice) {
  for (const Shape& shape : kShapes) {
    Drawn drawn(shape, true, shape.Count());
    drawn.DrawParts(1);
    ExpectTheSameOnEveryDevice(drawn);
  }
}

TEST(Normalize, ShiftsAreMirroredFirstAndBlackOutside) {
  for (const bool by_channel : {false, true})
    for (const Shape& shape : kShapes) {
      Drawn drawn(shape, by_channel, shape.Count());
      drawn.DrawShifts(2);
      ExpectTheSameOnEveryDevice(drawn);
      std::vector<float> input = drawn.ByExample();
      const float* at = input.data();
      for (int64_t i = 0; i < kBatch; ++i)
        for (int64_t c = 0; c < shape[0]; ++c)
          for (int64_t y = 0; y < shape[1]; ++y)
            for (int64_t x = 0; x < shape[2]; ++x)
              ASSERT_NEAR(*at++, drawn.Pixel(i, c, y + drawn.crops[i].top, x + drawn.crops[i].left),
                          1e-4);
    }
}

constexpr float kAsStored[] = {1, 0, 0};

TEST(Normalize, StretchesBetweenCentresOfPixels) {
  const std::vector<float> from = {9, 9, 9, 9, 9, 9, 2, 6, 9, 9, 4, 8, 9, 9, 9, 9};
  const ImageCrop crop = {.top = 1, .left = 2, .height = 2, .width = 2};
  std::vector<float> to(16);
  NormalizeExample(from.data(), {1, 4, 4}, {1, kAsStored}, &crop, to.data());
  EXPECT_EQ(to,
            (std::vector<float>{2, 3, 5, 6, 2.5, 3.5, 5.5, 6.5, 3.5, 4.5, 6.5, 7.5, 4, 5, 7, 8}));
}

TEST(Normalize, TheWholeImageStaysAsItIs) {
  const std::vector<float> from = {1, 2, 3, 4, 5, 6};
  const ImageCrop crop = {.height = 2, .width = 3};
  std::vector<float> to(6);
  NormalizeExample(from.data(), {1, 2, 3}, {1, kAsStored}, &crop, to.data());
  EXPECT_EQ(to, from);
}

}  // namespace yoke::normalize_test
