// The loops over an output gradient for AVX2, and which ones this CPU runs.
#include "kernels/cpu/gradient_loops.h"

namespace yoke::cpu {
namespace {

template <typename T>
void TakeAvx2(const GradientPanel& panel) {
  TakePanel<T, 8>(panel);
}

}  // namespace

GradientLoops GradientLoopsFor() {
  if (HasAvx512()) return GradientLoopsAvx512();
  return {TakeAvx2<float>, TakeAvx2<Bf16>};
}

}  // namespace yoke::cpu
