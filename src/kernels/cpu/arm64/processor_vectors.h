// What vectors (kernels/cpu/wide.h) do without instructions of their own. CMake chooses this folder
// on arm64.
#pragma once

#include "kernels/cpu/vector.h"

namespace yoke::cpu {

/// Converts each element.
template <typename From, typename To>
[[gnu::always_inline]] inline void ConvertLanes(const From& from, To& to) {
  to = __builtin_convertvector(from, To);
}

/// An ordinary store.
template <typename V>
[[gnu::always_inline]] inline void StreamBytes(const V& v, void* to) {
  std::memcpy(to, &v, sizeof v);
}
[[gnu::always_inline]] inline void EndStream() {}

/// 1 / sqrt(s).
template <typename Floats>
[[gnu::always_inline]] inline void EstimateInverseRoot(const Floats& s, Floats& root) {
  for (size_t lane = 0; lane < sizeof s / sizeof(float); ++lane)
    root[lane] = 1.0F / __builtin_sqrtf(s[lane]);
}

}  // namespace yoke::cpu
