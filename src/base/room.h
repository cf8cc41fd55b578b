// ResizeWithRoom: lists whose length differs little from step to step.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

/// Resizes a list whose elements are no longer needed. Leaves room of a quarter: growing by itself
/// would keep twice as much, and hold the old elements beside the new ones meanwhile.
template <typename T>
void ResizeWithRoom(std::vector<T>& list, int64_t count) {
  if (count > static_cast<int64_t>(list.capacity())) {
    std::vector<T>().swap(list);
    list.reserve(count + count / 4);
  }
  list.resize(count);
}

}  // namespace yoke
