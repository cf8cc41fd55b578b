// Ranks as threads of this process: the embedded default.
#pragma once

#include "comm/communicator.h"

namespace yoke {

struct ThreadRanks {
  int ranks = 1;
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceWay all_reduce = AllReduceWay::kAuto;
};

/// Runs body(world) once a rank, rank 0 in the caller and each other one on a thread of its own,
/// and waits for all. When one throws, the others' waits end at once, and its exception is thrown
/// here.
void RunThreads(const ThreadRanks& options, const std::function<void(const Communicator&)>& body);

}  // namespace yoke
