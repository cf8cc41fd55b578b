// The passes of batch normalization for AVX-512.
#include <immintrin.h>

#include "kernels/batch_norm/cpu_passes.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/batch_norm/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void PartAvx512(const NormPass& pass, int64_t begin, int64_t end, double* sums) {
  Part<T, 16>(pass, begin, end, sums);
}

}  // namespace

NormPart PassesAvx512(DType type) {
  return type == DType::kBf16 ? PartAvx512<Bf16> : PartAvx512<float>;
}

}  // namespace yoke::cpu
