// YellowFinTuner: averages, and the step that they call for.
#include "optim/rules/yellowfin_tuner.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace yoke {
namespace {

using Scalars = std::array<float, kYellowFinScalars>;

constexpr int kWindow = YellowFinMemory::kWindow;
/// Updates over which the rate rises.
constexpr double kSlowStart = 10 * kWindow;
constexpr float kMostRise = 100;
/// log of how far above h_max an h counts.
const double kMostGrowth = std::log(100.0);
/// Explicit momentum stays inside (-1, 1), where the heavy ball can be stable.
constexpr double kLeastMomentum = -0.9, kMostMomentum = 0.999;

/// Moves an average that starts at 0, and returns it with its bias corrected. `updates`: this one
/// included.
class Averages {
 public:
  Averages(double beta, double updates) : beta_(beta), weight_(1 - std::pow(beta, updates)) {}
  double Take(float& average, double value) const {
    average = static_cast<float>(beta_ * average + (1 - beta_) * value);
    return average / weight_;
  }
  double Of(float average) const { return weight_ > 0 ? average / weight_ : 0; }

 private:
  double beta_, weight_;
};

/// Of the updates before: E|g|^2 - |E g|^2.
double Variance(const YellowFinMemory& memory, double beta, double state_square, int64_t earlier) {
  if (memory.updates == 0 || earlier == 0) return 0;
  const double mean_weight = 1 - std::pow(beta, static_cast<double>(earlier));
  const double square = Averages(beta, memory.updates).Of(memory.square);
  return std::max(0.0, square - state_square / (mean_weight * mean_weight));
}

double Square(double x) { return x * x; }

}  // namespace

YellowFinMemory ReadYellowFin(std::span<const float> scalars) {
  Scalars all = {};
  std::ranges::copy(scalars.first(all.size()), all.begin());
  return std::bit_cast<YellowFinMemory>(all);
}

void Write(const YellowFinMemory& memory, std::span<float> scalars) {
  std::ranges::copy(std::bit_cast<Scalars>(memory), scalars.begin());
}

/// With y = 1 - x: y^3 + p y - p = 0, by hyperbolic functions, which lose no digits for any p.
double YellowFinRoot(double p) {
  p = std::clamp(p, 1e-30, 1e30);
  const double y = 2 * std::sqrt(p / 3) * std::sinh(std::asinh(1.5 * std::sqrt(3 / p)) / 3);
  return std::clamp(1 - y, 0.0, 1.0);
}

double Advance(const YellowFinSettings& settings, const UpdateFacts& facts, int64_t earlier,
               YellowFinMemory& m) {
  const double h = facts.gradient_square;
  if (!std::isfinite(h) || h <= 0) return 1;
  const auto elements = static_cast<float>(facts.elements);
  if (m.elements != elements) m = {.elements = elements};
  const double variance = Variance(m, settings.beta, facts.state_square, earlier);

  const Averages before(settings.beta, m.updates);
  double log_h = std::log(h);
  if (m.updates > 0) log_h = std::min(log_h, before.Of(m.log_high) + kMostGrowth);
  m.logs[static_cast<int64_t>(m.updates) % kWindow] = static_cast<float>(log_h);
  const Averages now(settings.beta, ++m.updates);
  const auto window = std::span(m.logs).first(
      static_cast<size_t>(std::min(m.updates, static_cast<float>(kWindow))));
  const auto [lowest, highest] = std::ranges::minmax(window);
  const double high = std::exp(now.Take(m.log_high, highest));
  const double low = std::exp(now.Take(m.log_low, lowest));

  const double clip = std::min(1.0, std::sqrt(high / h));
  const double square = now.Take(m.square, clip * clip * h);
  const double norm = now.Take(m.norm, clip * std::sqrt(h));
  const double distance = now.Take(m.distance, norm / square);

  const double root = YellowFinRoot(Square(distance * low) / (2 * variance));
  const double ratio = std::sqrt(high / low);
  const double x = std::max(root, (ratio - 1) / (ratio + 1));
  m.rate = static_cast<float>(Square(1 - x) / std::max(low, std::exp(double{lowest})));
  if (m.updates <= kSlowStart) m.early_rate = std::max(m.early_rate, m.rate);
  m.rate = std::min(m.rate, kMostRise * m.early_rate);
  m.rate *= static_cast<float>(std::min(1.0, m.updates / kSlowStart));
  m.target = static_cast<float>(x * x);

  const double error = facts.total_momentum ? m.target - *facts.total_momentum : -m.correction;
  const double momentum = std::clamp(m.target + m.correction + settings.feedback * error,
                                     kLeastMomentum, kMostMomentum);
  m.correction = static_cast<float>(momentum - m.target);
  m.momentum = static_cast<float>(momentum);
  return clip;
}

}  // namespace yoke
