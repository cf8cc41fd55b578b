// Losses: a loop each.
#include "kernels/losses.h"

#include <cmath>

#include "kernels/makers.h"

namespace yoke {
namespace {

/// The loss of an error, and its slope.
struct ErrorLoss {
  double loss, slope;
};

double Sign(double e) { return e > 0 ? 1 : e < 0 ? -1 : e; }

ErrorLoss Huber(double e, double delta) {
  if (std::abs(e) <= delta) return {e * e / 2, e};
  return {delta * (std::abs(e) - delta / 2), delta * Sign(e)};
}

ErrorLoss Quantile(double e, double level) {
  if (e < 0) return {-level * e, -level};
  return {(1 - level) * e, e > 0 ? 1 - level : e};
}

ErrorLoss Of(const RegressionLossShape& s, double e) {
  switch (s.function) {
    case RegressionLoss::kSquared:
      return {e * e, 2 * e};
    case RegressionLoss::kAbsolute:
      return {std::abs(e), Sign(e)};
    case RegressionLoss::kHuber:
      return Huber(e, s.parameter);
    case RegressionLoss::kQuantile:
      return Quantile(e, s.parameter);
  }
  throw Error("no such loss");
}

struct RegressionLossLoop {
  using Call = RegressionLossCall;
  RegressionLossShape shape;

  void Forward(const Call& call) const {
    for (int64_t n = 0; n < shape.batch; ++n) {
      double sum = 0;
      for (int64_t i = n * shape.outputs; i < (n + 1) * shape.outputs; ++i)
        sum += Of(shape, double{call.scores[i]} - call.targets[i]).loss;
      call.losses[n] = static_cast<float>(sum / static_cast<double>(shape.outputs));
    }
  }

  void Backward(const Call& call) const {
    const int64_t count = shape.batch * shape.outputs;
    for (int64_t i = 0; i < count; ++i)
      call.gradient[i] = static_cast<float>(
          Of(shape, double{call.scores[i]} - call.targets[i]).slope / static_cast<double>(count));
  }
};

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

const KernelList<RegressionLossCall, RegressionLossShape> operation::kRegressionLoss(
    "regression loss", {.bf16 = false, .others = "squared, absolute, huber, quantile"},
    {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<RegressionLossLoop>}});

std::unique_ptr<Kernel<RegressionLossCall>> MakeRegressionLoss(const RegressionLossShape& shape,
                                                               const Target& target) {
  return operation::kRegressionLoss.Make(shape, target);
}

bool IsPossibleLoss(double loss) { return std::isfinite(loss) && loss > -kRounding; }

const KernelList<StepLossCall, NoShape> operation::kStepLoss("step loss",
                                                             {.backward = false, .bf16 = false},
                                                             {{"cuda", "cuda", cuda::Make},
                                                              {"loops", LoopsOf<StepLossLoop>}});

std::unique_ptr<Kernel<StepLossCall>> MakeStepLoss(const Target& target) {
  return operation::kStepLoss.Make({}, target);
}

const KernelList<WeighRowsCall, NoShape> operation::kWeighRows("weigh rows",
                                                               {.backward = false, .bf16 = false},
                                                               {{"cuda", "cuda", cuda::Make},
                                                                {"loops", LoopsOf<WeighRowsLoop>}});

std::unique_ptr<Kernel<WeighRowsCall>> MakeWeighRows(const Target& target) {
  return operation::kWeighRows.Make({}, target);
}

}  // namespace yoke
