// LAMB: Adam, where each parameter w moves in proportion to its length:
//   m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w;
//   w <- w - rate * |w| / |u| * u, with a ratio of 1 where either length is 0.
// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes" (2019),
// algorithm 2 with phi(z) = z. Cost: two passes over memory. Lengths are sums of blocks, in order.
#include <algorithm>
#include <cmath>

#include "optim/layerwise.h"
#include "optim/rules/options.h"

namespace yoke::rule {

RuleEntry adamw();

namespace {

/// What an update does to each element but for its length.
struct LambDirection {
  float mean, root, epsilon, decay;  ///< The first two: inverse bias corrections of m and sqrt(v).

  float operator()(float w, float m, float v) const {
    return mean * m / (root * std::sqrt(v) + epsilon) + decay * w;
  }
};

/// Sums of squares of values and directions.
struct LambSquares {
  double values = 0, directions = 0;
};

class Lamb : public LayerwiseRule {
 public:
  explicit Lamb(const Options& options)
      : LayerwiseRule(adamw().make(options)),
        beta1_(options.Float("beta1")),
        beta2_(options.Float("beta2")),
        epsilon_(options.Float("epsilon")),
        decay_(options.Float("weight_decay")) {}

  const char* name() const override { return "lamb"; }

  void UpdateLayer(const LayerUpdate& update) const override {
    const UpdateSpan& span = update.span;
    const LambDirection direction = DirectionOf(update.step);
    const auto scale = static_cast<float>(update.step.gradient_scale);
    const int64_t blocks = (span.count + kBlock - 1) / kBlock;
    std::vector<LambSquares> squares(static_cast<size_t>(blocks));
#pragma omp parallel for schedule(static) if (span.count > kParallelCount)
    for (int64_t b = 0; b < blocks; ++b)
      squares[static_cast<size_t>(b)] = TakeIn(BlockOf(span, b), scale, direction);
    const auto rate = static_cast<float>(update.step.learning_rate * RatioOf(squares));
#pragma omp parallel for schedule(static) if (span.count > kParallelCount)
    for (int64_t b = 0; b < blocks; ++b) Move(BlockOf(span, b), rate, direction);
  }

 private:
  static constexpr int64_t kBlock = 1 << 12;

  static UpdateSpan BlockOf(const UpdateSpan& span, int64_t block) {
    return PartOf(span, block * kBlock, std::min(span.count, (block + 1) * kBlock));
  }

  LambDirection DirectionOf(const UpdateStep& step) const {
    const auto t = static_cast<double>(step.step);
    return {.mean = static_cast<float>(1 / (1 - std::pow(beta1_, t))),
            .root = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t))),
            .epsilon = static_cast<float>(epsilon_),
            .decay = static_cast<float>(decay_ * step.decay)};
  }

  static double RatioOf(const std::vector<LambSquares>& squares) {
    LambSquares sum;
    for (const LambSquares& block : squares) {
      sum.values += block.values;
      sum.directions += block.directions;
    }
    return sum.values > 0 && sum.directions > 0 ? std::sqrt(sum.values / sum.directions) : 1;
  }

  /// Updates the moments by the gradient.
  LambSquares TakeIn(const UpdateSpan& span, float scale, const LambDirection& direction) const {
    const float beta1 = static_cast<float>(beta1_), rest1 = static_cast<float>(1 - beta1_);
    const float beta2 = static_cast<float>(beta2_), rest2 = static_cast<float>(1 - beta2_);
    float *const m = span.state[0], *const v = span.state[1];
    double values = 0, directions = 0;
#pragma omp simd reduction(+ : values, directions)
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * span.gradient[i], w = span.values[i];
      m[i] = beta1 * m[i] + rest1 * g;
      v[i] = beta2 * v[i] + rest2 * g * g;
      const double u = direction(w, m[i], v[i]);
      values += static_cast<double>(w) * w;
      directions += u * u;
    }
    return {values, directions};
  }

  static void Move(const UpdateSpan& span, float rate, const LambDirection& direction) {
    float* __restrict const w = span.values;
    for (int64_t i = 0; i < span.count; ++i)
      w[i] -= rate * direction(w[i], span.state[0][i], span.state[1][i]);
  }

  double beta1_, beta2_, epsilon_, decay_;
};

}  // namespace

RuleEntry lamb() {
  std::vector<OptionSpec> options =
      AdamOptions(WeightDecayOption("Added to Adam's direction, times the value.", 0.01));
  std::ranges::find(options, "epsilon", &OptionSpec::name)->fallback = 1e-6;
  return {.name = "lamb",
          .summary = "LAMB: Adam whose steps are as long as a layer's values, times the rate",
          .options = std::move(options),
          .make = [](const Options& given) -> std::unique_ptr<UpdateRule> {
            return std::make_unique<Lamb>(given);
          },
          .rates = {0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003}};
}

}  // namespace yoke::rule
