// FetchAhead: asks for memory before it is needed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace yoke {

/// Asks for the cache lines of `count` numbers, and of no more than `most`. Always inlined: g++ 12
/// takes a function that only asks for memory to have no effect and leaves its calls out.
template <typename T>
[[gnu::always_inline]] inline void FetchAhead(const T* numbers, int64_t count = 1,
                                              int64_t most = 512) {
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t i = 0; i < std::min(count, most); i += kLine) __builtin_prefetch(numbers + i);
}

}  // namespace yoke
