// Division: in proportion to averages of measured speeds.
#include "node/division.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace yoke {
namespace {

constexpr double kNewest = 0.1;      // least weight of a measurement in a device's speed
constexpr double kOtherSize = 1.25;  // a part so many times larger or smaller has another speed
constexpr double kWorthMore = 1.1;   // a division takes so many times longer than the best one

/// Sizes in proportion to speeds.
std::vector<int64_t> DivideBy(const std::vector<double>& speeds, int64_t examples) {
  std::vector<int64_t> sizes(speeds.size(), 0);
  double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const auto working = std::ranges::count_if(speeds, [](double speed) { return speed > 0; });
  const int64_t least = examples >= 2 * working ? 2 : 1;  // batch norm cannot use one example
  auto behind = working;
  int64_t left = examples;
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (speeds[i] == 0) continue;
    --behind;
    const int64_t wanted = std::lround(double(left) * speeds[i] / sum);
    const int64_t most = std::max(left - least * behind, std::min(left, least));
    sizes[i] = behind == 0 ? left : std::clamp(wanted, std::min(left, least), most);
    sum -= speeds[i];
    left -= sizes[i];
  }
  return sizes;
}

}  // namespace

Division::Division(const std::vector<double>& fractions)
    : speeds_(fractions.size()), stated_(true) {
  for (size_t i = 0; i < fractions.size(); ++i) speeds_[i].value = fractions[i];
}

const std::vector<int64_t>& Division::Divide(int64_t examples, const std::vector<bool>& works) {
  std::vector<double> speeds(speeds_.size(), 0.0);
  double least = 0;
  bool known = true;
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (!works[i]) continue;
    const double speed = speeds[i] = speeds_[i].value;
    known &= speed > 0;
    if (speed > 0) least = least > 0 ? std::min(least, speed) : speed;
  }
  for (size_t i = 0; i < speeds.size(); ++i)
    if (works[i] && speeds[i] == 0) speeds[i] = std::max(least, 1.0);
  if (!known || !Balanced(speeds, examples)) sizes_ = DivideBy(speeds, examples);
  return sizes_;
}

/// Whether the present division is of so many examples and takes hardly longer than the best one.
bool Division::Balanced(const std::vector<double>& speeds, int64_t examples) const {
  if (std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}) != examples) return false;
  double longest = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] == 0) continue;
    if (speeds[i] == 0) return false;
    longest = std::max(longest, double(sizes_[i]) / speeds[i]);
  }
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  return longest <= kWorthMore * double(examples) / all;
}

void Division::Measure(size_t device, double seconds) {
  Speed& speed = speeds_[device];
  const int64_t size = sizes_[device];
  if (stated_ || seconds <= 0 || size == 0) return;
  const double change = speed.size > 0 ? double(size) / double(speed.size) : 1;
  if (change >= kOtherSize || change * kOtherSize <= 1) speed.measured = 0;
  speed.size = size;
  speed.value += std::max(kNewest, 1.0 / ++speed.measured) * (double(size) / seconds - speed.value);
}

}  // namespace yoke
