// Omnivore's optimizer: grids, their skips, and when the number of groups rises and falls.
#include "plan/omnivore.h"

#include <cmath>

namespace yoke {
namespace {

constexpr double kFirstMomentum = 0.9;
constexpr double kFirstRates[] = {0.1, 0.01, 0.001, 0.0001};
constexpr double kGain = 1.1;          // of an update's speed, for more groups
constexpr double kLastMomentum = 0.6;  // where fewer groups take over

std::vector<Setting> FirstGrid() {
  std::vector<Setting> grid;
  for (const double rate : kFirstRates) grid.push_back({.rate = rate, .momentum = kFirstMomentum});
  return grid;
}

/// The best of a grid, without what is at least as large in both as a setting that diverged.
std::optional<GroupChoice> BestOf(int groups, const std::vector<Setting>& grid,
                                  const TryGroups& attempt) {
  std::optional<GroupChoice> best;
  std::vector<Setting> diverged;
  for (const Setting& setting : grid) {
    if (IsBeyondAny(setting, diverged)) continue;
    const GroupTrial trial = attempt({.groups = groups, .setting = setting});
    if (!std::isfinite(trial.loss))
      diverged.push_back(setting);
    else if (!best || IsBetter({setting, trial.loss}, {best->best.setting, best->trial.loss}))
      best = {.best = {.groups = groups, .setting = setting}, .trial = trial};
  }
  return best;
}

}  // namespace

ColdStart FindColdStart(const std::vector<int>& groups, const TryGroups& attempt) {
  ColdStart start;
  Setting last;
  double seconds = 0;  // of an update, with fewer groups
  for (const int number : groups) {
    const bool first = number == groups.front();
    const auto best = BestOf(number, first ? FirstGrid() : GridAround(last), attempt);
    if (!best) break;
    if (!start.found || best->trial.loss < start.found->trial.loss) start.found = best;
    if (!first && best->trial.seconds_per_update * kGain >= seconds) break;
    start.most_groups = number;
    last = best->best.setting;
    seconds = best->trial.seconds_per_update;
  }
  return start;
}

std::optional<GroupChoice> FindSteadyState(int groups, const Setting& last,
                                           const TryGroups& attempt) {
  Setting around = last;
  for (;; groups /= 2, around.momentum = kLastMomentum) {
    const auto best = BestOf(groups, GridAround(around), attempt);
    if (!best || groups == 1 || *best->best.setting.momentum > 0) return best;
    around.rate = best->best.setting.rate;
  }
}

}  // namespace yoke
