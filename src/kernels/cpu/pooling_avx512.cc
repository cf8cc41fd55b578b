// The loops of pooling for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/pooling_rows.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/cpu/pooling_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void ForwardAvx512(const PoolRow& row) {
  ForwardPoolRow<T, 16>(row);
}

template <typename T>
void BackwardAvx512(const PoolRow& row) {
  BackwardPoolRow<T, 16>(row);
}

}  // namespace

PoolLoops PoolLoopsAvx512(bool bf16) {
  if (bf16) return {ForwardAvx512<Bf16>, BackwardAvx512<Bf16>};
  return {ForwardAvx512<float>, BackwardAvx512<float>};
}

}  // namespace yoke::cpu
