// Copies of a device's arrays, for comparison.
#pragma once

#include <type_traits>
#include <vector>

#include "tensor/array.h"

namespace yoke {

/// The elements, wherever they lie.
template <typename T>
std::vector<std::remove_const_t<T>> ValuesOf(Array<T> array) {
  std::vector<std::remove_const_t<T>> values(array.count);
  Copy(OnHost(std::span(values)), array);
  return values;
}

/// Memory of the device with these elements.
template <typename T>
Buffer CopyOn(Device& device, const std::vector<T>& values) {
  Buffer buffer(device, static_cast<int64_t>(values.size() * sizeof(T)));
  Copy(AllOf<T>(buffer), OnHost(std::span(values)));
  return buffer;
}

}  // namespace yoke
