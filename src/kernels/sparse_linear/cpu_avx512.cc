// The sum of weighted rows for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/vector.h"
#include "kernels/sparse_linear/cpu_rows.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/sparse_linear/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void SumAvx512(const WeightedRows<T>& rows) {
  SumStrips<16>(rows, 0);
}

}  // namespace

SumRows SumRowsAvx512() { return {SumAvx512<float>, SumAvx512<Bf16>}; }

}  // namespace yoke::cpu
