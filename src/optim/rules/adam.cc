// Adam and AdamW. Where t is the number of this update, starting at 1:
//   w <- w * (1 - decay_rate * decoupled_decay);  g <- g + coupled_decay * w;
//   m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2;
//   w <- w - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
// adam: weight_decay is coupled, PyTorch's L2 penalty. Kingma and Ba, "Adam: A Method for
// Stochastic Optimization" (2015). adamw: it is decoupled and acts on the values instead of the
// moments. Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/instructions.h"
#include "optim/rule.h"
#include "optim/rules/options.h"

namespace yoke::rule {
namespace {

/// Settings of Adam and AdamW.
struct AdamSettings {
  const char* name = "adam";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double coupled_decay = 0;    ///< This times the value is added to the gradient (Adam).
  double decoupled_decay = 0;  ///< This times rate and value is subtracted from the value (AdamW).
};

/// What all updates of a rule have in common.
struct AdamConstants {
  double decoupled_decay;
  float decay, beta1, beta2, rest1, rest2, epsilon;
  /// |m| <= most sqrt(v) for all gradients (by Cauchy-Schwarz, with 1 % for rounding, or 2 % if it
  /// is to bf16). Racing threads (optim/racing.h) can break this bound; clamp m so that m / epsilon
  /// cannot explode.
  float most = std::numeric_limits<float>::max();
  float most_rounded = most;

  float MostOf(const UpdateSpan& span) const { return span.rounded ? most_rounded : most; }
};
/// Bias corrections of m and v: 1 - beta1^t and sqrt(1 - beta2^t).
struct AdamCorrection {
  double first = 0;
  double second = 0;
};

/// An element after the other: the same bits whatever the width of the vectors.
[[gnu::always_inline]] inline void UpdateElements(const UpdateSpan& span, const UpdateStep& step,
                                                  const AdamCorrection& correction,
                                                  const AdamConstants c) {
  const float rate = static_cast<float>(step.learning_rate / correction.first);
  const float inverse = static_cast<float>(1 / correction.second);
  const double decay_rate = step.decay_rate.value_or(step.learning_rate);
  const float keep = static_cast<float>(1 - decay_rate * (c.decoupled_decay * step.decay));
  const float decay = c.decay * static_cast<float>(step.decay);
  const float scale = static_cast<float>(step.gradient_scale);
  float* __restrict w = span.values;
  float* __restrict m = span.state[0];
  float* __restrict v = span.state[1];
  const float* __restrict gradient = span.gradient;
  const int64_t count = span.count;
  const float times = c.MostOf(span);
  for (int64_t i = 0; i < count; ++i) {
    const float kept = keep * w[i];
    const float g = scale * gradient[i] + decay * kept;
    m[i] = c.beta1 * m[i] + c.rest1 * g;
    v[i] = c.beta2 * v[i] + c.rest2 * g * g;
    const float root = std::sqrt(v[i]), most = times * root;
    const float mean = std::min(std::max(m[i], -most), most);
    w[i] = kept - rate * mean / (root * inverse + c.epsilon);
  }
}

YOKE_AVX512 void UpdateAvx512(const UpdateSpan& span, const UpdateStep& step,
                              const AdamCorrection& correction, const AdamConstants& constants) {
  UpdateElements(span, step, correction, constants);
}

class Adam : public UpdateRule {
 public:
  explicit Adam(const AdamSettings& settings)
      : settings_(settings),
        constants_{.decoupled_decay = settings.decoupled_decay,
                   .decay = static_cast<float>(settings.coupled_decay),
                   .beta1 = static_cast<float>(settings.beta1),
                   .beta2 = static_cast<float>(settings.beta2),
                   .rest1 = static_cast<float>(1 - settings.beta1),
                   .rest2 = static_cast<float>(1 - settings.beta2),
                   .epsilon = static_cast<float>(settings.epsilon)} {
    for (size_t t = 1; t < first_.size(); ++t) first_[t] = Correct(static_cast<double>(t));
    const double ratio = settings.beta1 * settings.beta1 / settings.beta2;
    const double rest = (1 - settings.beta2) * (1 - ratio);
    if (ratio >= 1 || rest <= 0) return;
    constants_.most = static_cast<float>(1.01 * (1 - settings.beta1) / std::sqrt(rest));
    constants_.most_rounded = static_cast<float>(1.02 * (1 - settings.beta1) / std::sqrt(rest));
  }

  const char* name() const override { return settings_.name; }

  std::unique_ptr<UpdateRule> Spread(int times) const override {
    AdamSettings spread = settings_;
    spread.beta1 = std::pow(settings_.beta1, 1.0 / times);
    spread.beta2 = std::pow(settings_.beta2, 1.0 / times);
    return std::make_unique<Adam>(spread);
  }

  /// With v as it is.
  void ApplyMomentum(const UpdateSpan& span, const UpdateStep& step, int updates) const override {
    if (step.step == 0) return;
    const AdamCorrection correction = CorrectionAt(step.step);
    const double beta1 = settings_.beta1;
    const double sum = beta1 * (1 - std::pow(beta1, updates)) / (1 - beta1);
    const auto rate = static_cast<float>(step.learning_rate * sum / correction.first);
    const auto inverse = static_cast<float>(1 / correction.second);
    for (int64_t i = 0; i < span.count; ++i) {
      const float root = std::sqrt(span.state[1][i]), most = constants_.MostOf(span) * root;
      const float mean = std::min(std::max(span.state[0][i], -most), most);
      span.values[i] -= rate * mean / (root * inverse + constants_.epsilon);
    }
  }

  std::vector<std::string> StateNames() const override { return {"m", "v"}; }

  RuleConstants Constants() const override {
    return {.formula = UpdateFormula::kAdam,
            .decay = settings_.coupled_decay,
            .decoupled_decay = settings_.decoupled_decay,
            .beta1 = settings_.beta1,
            .beta2 = settings_.beta2,
            .epsilon = settings_.epsilon,
            .most = constants_.most};
  }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    const AdamCorrection correction = CorrectionAt(step.step);
    if (avx512_) return UpdateAvx512(span, step, correction, constants_);
    UpdateElements(span, step, correction, constants_);
  }

 private:
  AdamCorrection Correct(double t) const {
    return {1 - std::pow(settings_.beta1, t), std::sqrt(1 - std::pow(settings_.beta2, t))};
  }

  AdamCorrection CorrectionAt(int64_t t) const {
    return t < static_cast<int64_t>(first_.size()) ? first_[t] : Correct(static_cast<double>(t));
  }

  AdamSettings settings_;
  AdamConstants constants_;
  bool avx512_ = cpu::HasAvx512();
  std::array<AdamCorrection, 1024> first_ = {};  ///< By t, because each row has its own step count.
};

/// `Decay`: the setting that weight_decay is.
template <double AdamSettings::*Decay>
std::unique_ptr<UpdateRule> MakeAdam(const Options& options) {
  AdamSettings settings = {.name = Decay == &AdamSettings::coupled_decay ? "adam" : "adamw",
                           .beta1 = options.Float("beta1"),
                           .beta2 = options.Float("beta2"),
                           .epsilon = options.Float("epsilon")};
  settings.*Decay = options.Float("weight_decay");
  return std::make_unique<Adam>(settings);
}

/// RuleEntry::rates: steps are about as long as the rate.
std::vector<double> AdamRates() { return {0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001}; }

}  // namespace

RuleEntry adam() {
  return {.name = "adam",
          .summary = "Adam: step sizes scaled by running moments of the gradient",
          .options = AdamOptions(CoupledDecayOption()),
          .make = MakeAdam<&AdamSettings::coupled_decay>,
          .rates = AdamRates()};
}

RuleEntry adamw() {
  return {.name = "adamw",
          .summary = "Adam with decoupled weight decay",
          .options = AdamOptions(WeightDecayOption(
              "Each update first shrinks the values by this times the learning rate.", 0.01)),
          .make = MakeAdam<&AdamSettings::decoupled_decay>,
          .rates = AdamRates()};
}

}  // namespace yoke::rule
