// StepLoss: one loop.
#include "kernels/step_loss.h"

#include <cmath>

#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr double kRounding = 1e-3;  // of a loss in f32 whose true value is 0

struct StepLossLoop {
  using Call = StepLossCall;
  static void Forward(const Call& call) {
    double sum = call.first ? 0 : *call.loss;
    for (int64_t i = 0; i < call.count; ++i) sum += call.losses[i];
    *call.loss = call.last ? sum / static_cast<double>(call.count) : sum;
    if (call.last && call.stop && !IsPossibleLoss(*call.loss)) *call.stop = 1;
  }
};

}  // namespace

bool IsPossibleLoss(double loss) { return std::isfinite(loss) && loss > -kRounding; }

const KernelList<StepLossCall, NoShape> operation::kStepLoss("step loss",
                                                             {.backward = false, .bf16 = false},
                                                             {{"cuda", "cuda", cuda::Make},
                                                              {"loops", LoopsOf<StepLossLoop>}});

std::unique_ptr<Kernel<StepLossCall>> MakeStepLoss(const Target& target) {
  return operation::kStepLoss.Make({}, target);
}

}  // namespace yoke
