// The loops over active rows for AVX-512.
#include <immintrin.h>

#include "kernels/active_rows/cpu_rows.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/active_rows/cpu_loops.h"

namespace yoke::cpu {
namespace {

void ForwardAvx512(const RowRange& range) { ForwardRows<16>(range); }
void BackwardAvx512(const RowRange& range) { BackwardRows<16>(range); }

}  // namespace

ActiveRowsLoops ActiveRowsLoopsAvx512() { return {ForwardAvx512, BackwardAvx512}; }

}  // namespace yoke::cpu
