// The loops over active rows for AVX2, and which ones this CPU runs.
#include "kernels/active_rows/cpu_loops.h"

namespace yoke::cpu {

ActiveRowsLoops ActiveRowsLoopsFor() {
  if (HasAvx512()) return ActiveRowsLoopsAvx512();
  return {[](const RowRange& range) { ForwardRows<8>(range); },
          [](const RowRange& range) { BackwardRows<8>(range); }};
}

}  // namespace yoke::cpu
