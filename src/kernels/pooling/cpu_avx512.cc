// The loops of pooling for AVX-512.
#include <immintrin.h>

#include "kernels/cpu/vector.h"
#include "kernels/pooling/cpu_rows.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/pooling/cpu_loops.h"

namespace yoke::cpu {

PoolLoops PoolLoopsAvx512(bool bf16) { return PoolLoopsOf<16>(bf16); }

}  // namespace yoke::cpu
