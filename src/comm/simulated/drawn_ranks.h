// DrawnRanks: the ranks of a simulated cluster that a picture of it shows.
#pragma once

#include <vector>

#include "comm/simulated.h"

namespace yoke {

struct DrawnRank {
  int rank = 0;
  int group = 0;  ///< Of neighbours on equal nodes of one rack and region: 0, 1, ...
};

/// At most `most` (2 or more) ranks in their order, with the first and the last one. Each group has
/// one and a part of the rest by its size; if there are more groups, they are spread over all
/// ranks.
std::vector<DrawnRank> DrawnRanks(const SimulatedRanks& cluster, int most);

}  // namespace yoke
