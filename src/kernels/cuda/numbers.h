// Numbers: what all bodies share: f32 out of and into stored elements, the places of pixels.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke::cuda {

YOKE_HOST_DEVICE inline float Wide(float x) { return x; }
YOKE_HOST_DEVICE inline float Wide(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

/// Rounds to nearest even, as Bf16 does.
template <typename T>
YOKE_HOST_DEVICE T Narrow(float value);
template <>
YOKE_HOST_DEVICE inline float Narrow<float>(float value) {
  return value;
}
template <>
YOKE_HOST_DEVICE inline Bf16 Narrow<Bf16>(float value) {
  const auto u = __builtin_bit_cast(uint32_t, value);
  const bool nan = (u & 0x7FFFFFFFU) > 0x7F800000U;
  Bf16 rounded;
  rounded.bits =
      static_cast<uint16_t>(nan ? (u >> 16) | 0x40U : (u + 0x7FFFU + ((u >> 16) & 1U)) >> 16);
  return rounded;
}

YOKE_HOST_DEVICE inline int64_t Least(int64_t a, int64_t b) { return b < a ? b : a; }
YOKE_HOST_DEVICE inline int64_t Most(int64_t a, int64_t b) { return a < b ? b : a; }

/// Calls run(T{}) with the type of the elements, f32 or bf16.
template <typename Run>
void WithType(DType type, const Run& run) {
  Check(type == DType::kF32 || type == DType::kBf16, "elements on a GPU are of f32 or bf16");
  type == DType::kBf16 ? run(Bf16{}) : run(float{});
}

/// N elements of a tensor that lie side by side, which a thread reads and writes at once: 16 bytes
/// by an instruction.
template <typename T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T at[N];
  /// The pack at i of a tensor that is aligned as they are.
  YOKE_HOST_DEVICE static Pack Of(const void* tensor, int64_t i) {
    return static_cast<const Pack*>(tensor)[i];
  }
  YOKE_HOST_DEVICE void To(void* tensor, int64_t i) const { static_cast<Pack*>(tensor)[i] = *this; }
};

/// Elements by row (an example's pixel) and channel.
struct RowIndex {
  int64_t channels, pixels;
  bool last;
  YOKE_HOST_DEVICE int64_t operator()(int64_t row, int64_t c) const {
    return last ? row * channels + c : (row / pixels * channels + c) * pixels + row % pixels;
  }
  YOKE_HOST_DEVICE int64_t Channel(int64_t i) const {
    return last ? i % channels : i / pixels % channels;
  }
};

/// The size and order of an image tensor, and where its elements are.
struct Image {
  int32_t channels = 1, height = 1, width = 1;
  bool last = false;

  Image() = default;
  /// Of [batch, channels, axes...]; other axes than four count as one of pixels.
  Image(const Shape& shape, Layout layout)
      : channels(static_cast<int32_t>(shape[1])),
        height(static_cast<int32_t>(shape.rank() == 4 ? shape[2] : 1)),
        width(static_cast<int32_t>(shape.Count() / Most(shape[0] * shape[1] * height, 1))),
        last(layout == Layout::kChannelsLast) {
    Check(shape.Count() < (int64_t{1} << 31), "an image tensor has fewer than 2^31 elements");
  }

  struct Place {
    int32_t n, c, y, x;
  };
  /// Of element i in the order of memory.
  YOKE_HOST_DEVICE Place At(int64_t element) const {
    auto i = static_cast<uint32_t>(element);
    Place place = {};
    if (last) place.c = Rest(i, channels);
    place.x = Rest(i, width);
    place.y = Rest(i, height);
    if (!last) place.c = Rest(i, channels);
    place.n = static_cast<int32_t>(i);
    return place;
  }
  YOKE_HOST_DEVICE int64_t Of(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return last ? ((n * height + y) * width + x) * channels + c
                : ((n * channels + c) * height + y) * width + x;
  }
  YOKE_HOST_DEVICE int64_t Pixels() const { return int64_t{height} * width; }

 private:
  /// Divides i, and returns the rest.
  YOKE_HOST_DEVICE static int32_t Rest(uint32_t& i, int32_t by) {
    const uint32_t all = i;
    i = all / static_cast<uint32_t>(by);
    return static_cast<int32_t>(all - i * static_cast<uint32_t>(by));
  }
};

/// Sums of products and of values.
struct PairSum {
  float product, value;
  YOKE_HOST_DEVICE PairSum operator+(const PairSum& other) const {
    return {product + other.product, value + other.value};
  }
};

/// A kernel whose bodies run on a grid: the GPU's, or the host's in tests.
template <typename Grid, typename CallType>
class GridKernel : public Kernel<CallType> {
 public:
  using Call = CallType;
  explicit GridKernel(const Grid& grid) : grid_(grid) {}
  std::string name() const override { return "cuda"; }

 protected:
  Grid grid_;
};

}  // namespace yoke::cuda
