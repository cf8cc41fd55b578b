// WeighRows: one loop.
#include "kernels/weigh_rows.h"

#include "kernels/makers.h"

namespace yoke {
namespace {

struct WeighRowsLoop {
  using Call = WeighRowsCall;
  static void Forward(const Call& call) {
    constexpr int64_t kParallelCount = 1 << 14;
#pragma omp parallel for schedule(static) if (call.rows * call.width > kParallelCount)
    for (int64_t r = 0; r < call.rows; ++r)
      for (int64_t i = r * call.width; i < (r + 1) * call.width; ++i)
        call.values[i] *= call.weights[r];
  }
};

}  // namespace

const KernelList<WeighRowsCall, NoShape> operation::kWeighRows("weigh rows",
                                                               {.backward = false, .bf16 = false},
                                                               {{"cuda", "cuda", cuda::Make},
                                                                {"loops", LoopsOf<WeighRowsLoop>}});

std::unique_ptr<Kernel<WeighRowsCall>> MakeWeighRows(const Target& target) {
  return operation::kWeighRows.Make({}, target);
}

}  // namespace yoke
