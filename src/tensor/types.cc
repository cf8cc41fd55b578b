// Types and shapes.
#include "tensor/types.h"

#include <array>

namespace yoke {

int64_t SizeOf(DType type) {
  constexpr std::array<int64_t, 4> kSizes = {4, 2, 4, 1};
  return kSizes[static_cast<int>(type)];
}

std::string_view NameOf(DType type) {
  constexpr std::array<std::string_view, 4> kNames = {"f32", "bf16", "i32", "u8"};
  return kNames[static_cast<int>(type)];
}

int64_t Shape::Count() const {
  int64_t count = 1;
  for (int64_t axis : axes_) count *= axis;
  return count;
}

Shape Shape::Batched(int64_t batch) const {
  std::vector<int64_t> axes = {batch};
  axes.insert(axes.end(), axes_.begin(), axes_.end());
  return Shape(std::move(axes));
}

std::string Shape::Text() const {
  std::string text;
  for (int64_t axis : axes_) text += (text.empty() ? "" : "x") + std::to_string(axis);
  return text;
}

}  // namespace yoke
