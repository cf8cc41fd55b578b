// CurveOfTeams: the speed curve of a machine of many cores, from the computed steps of teams that
// would divide it.
#pragma once

#include <vector>

#include "measure/growth.h"
#include "node/speed_curve.h"

namespace yoke {

/// What a machine has that no team of few cores tells.
struct SharedMemory {
  int nodes = 1;
  double bytes_per_second = 0;  ///< Of all of them.
};

/// Examples of one of the teams of so many threads that divide a batch and a machine: at least 1.
int64_t BatchOfTeam(int64_t batch, int team, int threads);

/// `teams`: growth of one point each, by rising threads from 1 to all, each with its batch. Updates
/// are left out: the curve takes their bytes from memory. A team that spans memory nodes reads the
/// others' bytes at half the speed (assumed). Without title.
SpeedCurve CurveOfTeams(const std::vector<Growth>& teams, const SharedMemory& memory);

}  // namespace yoke
