// Omnivore's optimizer as published: it chooses the number of compute groups, the learning rate and
// the momentum by trials (Hadjis, Zhang, Mitliagkas, Re, 2016, arXiv 1606.04487, section 5).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/tuning.h"

namespace yoke {

/// A number of compute groups with the rate and momentum of their server.
struct GroupSetting {
  int groups = 1;
  Setting setting = {};
};

/// A short training with a setting.
struct GroupTrial {
  double loss = 0;  ///< Mean of its last ten steps; not finite: it diverged.
  double seconds_per_update = 0;
  std::string run = {};  ///< Which can be continued.
};

/// Trains with a setting for as long as all trials do.
using TryGroups = std::function<GroupTrial(const GroupSetting&)>;

/// The best setting that was tried, with its trial.
struct GroupChoice {
  GroupSetting best = {};
  GroupTrial trial = {};
};

/// The cold start: what `search` found, and the largest number of groups that is worth trying.
struct ColdStart {
  std::optional<GroupChoice> found = {};  ///< None: all trials diverged.
  int most_groups = 1;
};

/// With 1 group momentum 0.9 and the rates 0.1, 0.01, 0.001, 0.0001; with more the grid around the
/// setting of fewer (GridAround), as long as an update becomes 10 % faster. The best number of
/// groups is the one with the lowest loss. `groups`: from 1 up.
ColdStart FindColdStart(const std::vector<int>& groups, const TryGroups& attempt);

/// A search of the steady state, from the setting of the last one and `groups` groups: the grid
/// around it; while the best momentum is 0, with half as many groups and from momentum 0.6. None:
/// all trials diverged.
std::optional<GroupChoice> FindSteadyState(int groups, const Setting& last,
                                           const TryGroups& attempt);

}  // namespace yoke
