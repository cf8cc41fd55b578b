// The sum of weighted rows for AVX2, and which one this CPU runs.
#include "kernels/sparse_linear/cpu_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void SumAvx2(const WeightedRows<T>& rows) {
  SumStrips<8>(rows, 0);
}

}  // namespace

SumRows SumRowsFor() {
  return HasAvx512() ? SumRowsAvx512() : SumRows{SumAvx2<float>, SumAvx2<Bf16>};
}

}  // namespace yoke::cpu
