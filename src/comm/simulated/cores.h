// Cores: processors that tasks of a simulation share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace yoke {

struct Cores {
  std::vector<double> free = {};  ///< When each is free; empty: as many as are asked for.
  int working = 0;                ///< Tasks that compute or want to.
  int waiting = 0;                ///< Ranks that wait for a message.

  /// What the time of a computation is multiplied by where each waiting rank takes the fraction
  /// `polling` of a core.
  double Slowdown(double polling) const {
    if (polling == 0) return 1;
    const auto all = static_cast<double>(free.size());
    const double left = all - polling * waiting;
    return std::max(1.0, std::min(static_cast<double>(working), all) / std::max(left, all / 10));
  }

  /// The one that is free first.
  double& First() { return *std::ranges::min_element(free); }
};

}  // namespace yoke
