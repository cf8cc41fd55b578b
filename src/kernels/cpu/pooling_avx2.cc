// The loops of pooling for AVX2, and which ones this CPU runs.
#include "kernels/cpu/pooling_loops.h"

namespace yoke::cpu {
namespace {

template <typename T, bool Back>
void RowAvx2(const PoolRow& row) {
  RunPoolRow<T, 8, Back>(row);
}

}  // namespace

PoolLoops PoolLoopsFor(bool bf16) {
  if (HasAvx512()) return PoolLoopsAvx512(bf16);
  if (bf16) return {RowAvx2<Bf16, false>, RowAvx2<Bf16, true>};
  return {RowAvx2<float, false>, RowAvx2<float, true>};
}

}  // namespace yoke::cpu
