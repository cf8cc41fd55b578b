// Small functions that the standard library lacks: the median, expected counts, lists that leave
// room, rounding up to a multiple, prefetching.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace yoke {

/// The middle value, or the mean of the two middle ones; `values` is not empty.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Different ones of so many independent draws from `all`.
inline double DifferentOf(double all, double draws) { return all * -std::expm1(-draws / all); }

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

/// The smallest multiple of `unit` that is at least `count`; neither is negative.
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

/// Prefetches the cache lines of `count` elements, at most `most`. Always inlined, because g++ 12
/// removes calls of a function that only prefetches.
template <typename T>
[[gnu::always_inline]] inline void FetchAhead(const T* elements, int64_t count = 1,
                                              int64_t most = 512) {
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t i = 0; i < std::min(count, most); i += kLine) __builtin_prefetch(elements + i);
}

}  // namespace yoke
