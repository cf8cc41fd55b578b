// Types and shapes.
#include "tensor/types.h"

#include <algorithm>
#include <array>

#include "tensor/sizes.h"

namespace yoke {
namespace {

void CheckCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t axis : shape.axes())
    if (__builtin_mul_overflow(count, axis, &count) || count > kMostElements)
      throw TooLarge(
          fmt::format("{} numbers are too many: expected at most {}", shape.Text(), kMostElements));
}

}  // namespace

int64_t SizeOf(DType type) {
  constexpr std::array<int64_t, 4> kSizes = {4, 2, 4, 1};
  return kSizes[static_cast<int>(type)];
}

std::string_view NameOf(DType type) {
  constexpr std::array<std::string_view, 4> kNames = {"f32", "bf16", "i32", "u8"};
  return kNames[static_cast<int>(type)];
}

Shape::Shape(std::span<const int64_t> axes) : rank_(static_cast<int>(axes.size())) {
  Check(axes.size() <= kMaxRank, "a shape has at most 6 axes");
  std::copy(axes.begin(), axes.end(), axes_.begin());
  CheckCount(*this);
}

int64_t Shape::Count() const {
  int64_t count = 1;
  for (int64_t axis : axes()) count *= axis;
  return count;
}

Shape Shape::Batched(int64_t batch) const {
  Check(rank_ < kMaxRank, "a shape has at most 6 axes");
  Shape batched = *this;
  std::copy(axes_.begin(), axes_.begin() + rank_, batched.axes_.begin() + 1);
  batched.axes_[0] = batch;
  ++batched.rank_;
  CheckCount(batched);
  return batched;
}

std::string Shape::Text() const {
  std::string text;
  for (int64_t axis : axes()) text += (text.empty() ? "" : "x") + std::to_string(axis);
  return text;
}

}  // namespace yoke
