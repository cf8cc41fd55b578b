// The loops over an output gradient for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/gradient.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/cpu/gradient_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void TakeAvx512(const GradientPanel& panel) {
  TakePanel<T, 16>(panel);
}

}  // namespace

GradientLoops GradientLoopsAvx512() { return {TakeAvx512<float>, TakeAvx512<Bf16>}; }

}  // namespace yoke::cpu
