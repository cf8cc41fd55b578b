// The loops of local response normalization for AVX2, and which ones this CPU runs.
#include "kernels/local_response_norm/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void ForwardAvx2(const NormBlockCall& call) {
  NormLoops<T, 8>::Forward(call);
}
template <typename T>
void BackwardAvx2(const NormBlockCall& call) {
  NormLoops<T, 8>::Backward(call);
}

}  // namespace

NormBlockLoops NormBlockLoopsFor(bool bf16) {
  if (HasAvx512()) return NormBlockLoopsAvx512(bf16);
  if (bf16) return {ForwardAvx2<Bf16>, BackwardAvx2<Bf16>, 8};
  return {ForwardAvx2<float>, BackwardAvx2<float>, 8};
}

}  // namespace yoke::cpu
