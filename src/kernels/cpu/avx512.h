// Whether this machine has the parts of AVX-512 that our loops are compiled for.
#pragma once

namespace yoke::cpu {

/// Whether it runs functions of the target
/// "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512".
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace yoke::cpu
