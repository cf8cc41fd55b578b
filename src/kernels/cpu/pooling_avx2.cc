// The loops of pooling for AVX2, and which ones this CPU runs.
#include "kernels/cpu/pooling_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void ForwardAvx2(const PoolRow& row) {
  ForwardPoolRow<T, 8>(row);
}

template <typename T>
void BackwardAvx2(const PoolRow& row) {
  BackwardPoolRow<T, 8>(row);
}

}  // namespace

PoolLoops PoolLoopsFor(bool bf16) {
  if (HasAvx512()) return PoolLoopsAvx512(bf16);
  if (bf16) return {ForwardAvx2<Bf16>, BackwardAvx2<Bf16>};
  return {ForwardAvx2<float>, BackwardAvx2<float>};
}

}  // namespace yoke::cpu
