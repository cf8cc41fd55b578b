// Types and shapes: how an element is stored, and how many there are along each axis.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

enum class DType : uint8_t { kF32, kBf16, kI32, kU8 };

int64_t SizeOf(DType type);           ///< Bytes per element.
std::string_view NameOf(DType type);  ///< "f32", "bf16", "i32", "u8"

/// A bfloat16 number: the upper half of an f32. Conversion from f32 rounds to nearest even.
struct Bf16 {
  uint16_t bits = 0;
  Bf16() = default;
  explicit Bf16(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const bool nan = (u & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(nan ? (u >> 16) | 0x40U : (u + 0x7FFFU + ((u >> 16) & 1U)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

/// Lengths of the axes, outermost first. Throws TooLarge (sizes.h). Copying a shape does not
/// allocate.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> axes) : Shape(std::span(axes.begin(), axes.size())) {}
  explicit Shape(const std::vector<int64_t>& axes) : Shape(std::span(axes.data(), axes.size())) {}
  explicit Shape(std::span<const int64_t> axes);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return axes_[axis]; }
  std::span<const int64_t> axes() const { return {axes_.data(), static_cast<size_t>(rank_)}; }
  int64_t Count() const;               ///< Product of the lengths; 1 for rank 0.
  Shape Batched(int64_t batch) const;  ///< The shape with a leading axis of length `batch`.
  std::string Text() const;            ///< "20x24x24"
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxRank> axes_ = {};  ///< Zeros after the last axis.
  int rank_ = 0;
};

}  // namespace yoke
