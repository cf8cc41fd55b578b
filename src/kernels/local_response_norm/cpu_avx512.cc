// The loops of local response normalization for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/vector.h"
#include "kernels/local_response_norm/cpu_block.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/local_response_norm/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void ForwardAvx512(const NormBlockCall& call) {
  NormLoops<T, 16>::Forward(call);
}
template <typename T>
void BackwardAvx512(const NormBlockCall& call) {
  NormLoops<T, 16>::Backward(call);
}

}  // namespace

NormBlockLoops NormBlockLoopsAvx512(bool bf16) {
  if (bf16) return {ForwardAvx512<Bf16>, BackwardAvx512<Bf16>, 16};
  return {ForwardAvx512<float>, BackwardAvx512<float>, 16};
}

}  // namespace yoke::cpu
