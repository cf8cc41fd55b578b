// StepTimer: runs of steps between two looks at the clock.
#include "measure/step_timer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/algorithms.h"

namespace yoke {
namespace {

constexpr double kRun = 0.03;     // seconds
constexpr double kWarmUp = 0.05;  // seconds, or one step
constexpr double kShort = 0.1;    // seconds

}  // namespace

double StepTimer::Once() const {
  prepare_();
  const double began = clock_();
  step_();
  return clock_() - began;
}

void StepTimer::Visit(double seconds, int least, int enough) {
  if (Stopped() && !times_.empty()) return;
  for (double warm = Once(); warm < kWarmUp && !Stopped();) warm += Once();
  double spent = 0;
  for (int done = 0; done < least || (spent < seconds && (done < enough || spent < kShort));) {
    double run = 0;
    int64_t steps = 0;
    for (; steps == 0 || (run < kRun && !Stopped()); ++steps) run += times_.emplace_back(Once());
    runs_.push_back(run / static_cast<double>(steps));
    done += static_cast<int>(steps);
    spent += run;
    if (Stopped()) return;
  }
}

double StepTimer::Seconds() const { return Median(runs_); }

double StepTimer::Sigma() const {
  if (times_.size() < 3) return 0;
  std::vector<double> differences;
  for (size_t i = 1; i < times_.size(); ++i)
    differences.push_back(std::log(times_[i] / times_[i - 1]));
  std::sort(differences.begin(), differences.end());
  const auto at = [&](double part) {
    return differences[static_cast<size_t>(part * static_cast<double>(differences.size() - 1))];
  };
  return (at(0.84) - at(0.16)) / 2 / std::numbers::sqrt2;
}

}  // namespace yoke
