// The loops of pooling for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/pooling_rows.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/cpu/pooling_loops.h"

namespace yoke::cpu {
namespace {

template <typename T, bool Back>
void RowAvx512(const PoolRow& row) {
  RunPoolRow<T, 16, Back>(row);
}

}  // namespace

PoolLoops PoolLoopsAvx512(bool bf16) {
  if (bf16) return {RowAvx512<Bf16, false>, RowAvx512<Bf16, true>};
  return {RowAvx512<float, false>, RowAvx512<float, true>};
}

}  // namespace yoke::cpu
