// FetchAhead: prefetches memory.
#pragma once

#include <algorithm>
#include <cstdint>

namespace yoke {

/// Prefetches the cache lines of `count` elements, at most `most`. Always inlined, because g++ 12
/// removes calls of a function that only prefetches.
template <typename T>
[[gnu::always_inline]] inline void FetchAhead(const T* elements, int64_t count = 1,
                                              int64_t most = 512) {
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t i = 0; i < std::min(count, most); i += kLine) __builtin_prefetch(elements + i);
}

}  // namespace yoke
