// The passes of batch normalization for AVX2, and which ones this CPU runs.
#include "kernels/batch_norm/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void PartAvx2(const NormPass& pass, int64_t begin, int64_t end, double* sums) {
  Part<T, 8>(pass, begin, end, sums);
}

}  // namespace

NormPart PassesFor(DType type, const char** name) {
  *name = HasAvx512() ? "vector passes, avx512" : "vector passes, avx2";
  if (HasAvx512()) return PassesAvx512(type);
  return type == DType::kBf16 ? PartAvx2<Bf16> : PartAvx2<float>;
}

}  // namespace yoke::cpu
