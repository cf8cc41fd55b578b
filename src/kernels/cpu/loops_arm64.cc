// What stands for the loops of AVX-512 and AMX on arm64: nothing calls it.
#include "kernels/active_rows/cpu_rows.h"
#include "kernels/batch_norm/cpu_passes.h"
#include "kernels/convolution/cpu_tiles.h"
#include "kernels/convolution/cpu_weights.h"
#include "kernels/convolution/cpu_winograd_tiles.h"
#include "kernels/cpu/gradient.h"
#include "kernels/local_response_norm/cpu_block.h"
#include "kernels/pooling/cpu_rows.h"
#include "kernels/sparse_linear/cpu_rows.h"

namespace yoke::cpu {

ActiveRowsLoops ActiveRowsLoopsAvx512() { return {}; }
NormPart PassesAvx512(DType /*type*/) { return {}; }
void PackLanesAvx512(DType /*type*/, const LaneRun& /*run*/) {}
int MostTileChannelsAvx512(int /*outputs*/) { return 0; }
TileFunction FindTileAvx512(DType /*type*/, int /*channels*/, int /*outputs*/) { return {}; }
std::unique_ptr<WeightGradient> MakeAmxWeightGradient(const ConvolutionShape& /*shape*/) {
  return nullptr;
}
WinogradLoops WinogradLoopsAvx512() { return {}; }
GradientLoops GradientLoopsAvx512() { return {}; }
NormBlockLoops NormBlockLoopsAvx512(bool /*bf16*/) { return {}; }
PoolLoops PoolLoopsAvx512(bool /*bf16*/) { return {}; }
SumRows SumRowsAvx512() { return {}; }

}  // namespace yoke::cpu
