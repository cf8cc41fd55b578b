// The loops of pooling for AVX2, and which ones this CPU runs.
#include "kernels/pooling/cpu_loops.h"

namespace yoke::cpu {

PoolLoops PoolLoopsFor(bool bf16) {
  return HasAvx512() ? PoolLoopsAvx512(bf16) : PoolLoopsOf<8>(bf16);
}

}  // namespace yoke::cpu
