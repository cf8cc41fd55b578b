// Lanes: sixteen dense rows side by side, so that one instruction works on sixteen rows. The same
// loops are compiled twice: for AVX2, a vector in two registers, and in functions of the target
// AVX-512, in one.
#pragma once

#include <cstdint>

namespace yoke {

inline constexpr int kLanes = 16;
using FloatLanes [[gnu::vector_size(64)]] = float;
using IntLanes [[gnu::vector_size(64)]] = int32_t;

/// Lanes in memory, aligned as AVX-512 wants them whatever the rest is compiled for.
struct alignas(64) Floats {
  FloatLanes v = {};
};
struct alignas(64) Ints {
  IntLanes v = {};
};

/// Whether this machine runs functions of the target "avx512f,avx512bw,avx512dq,avx512vl".
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/// Writes one table's keys of `count` rows, `tables` apart.
inline void StoreKeys(const Ints& lanes, int64_t count, int64_t tables, uint32_t* keys) {
  for (int64_t row = 0; row < count; ++row)
    keys[row * tables] = static_cast<uint32_t>(lanes.v[row]);
}

}  // namespace yoke
