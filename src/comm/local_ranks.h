// Local ranks: the launcher's other processes on this machine, as /proc shows them, because they
// cannot be asked before they have joined.
#pragma once

#include <string>
#include <vector>

#include "comm/launcher.h"

namespace yoke {

/// A rank on this machine. With a wrapper script it has several processes.
struct LocalRankStatus {
  int rank = 0;
  int process = 0;       ///< One of them.
  bool joining = false;  ///< One of them waits for the others (MarkAsJoining).
  bool stopped = false;  ///< One of them is stopped (SIGSTOP, a debugger).
};

/// Marks this process as joining, visible to others, until the calling thread ends.
void MarkAsJoining();

/// The ranks on this machine by rank, including that of `process` (0: this one), without those that
/// have ended. Empty if they cannot be seen (separate containers).
std::vector<LocalRankStatus> FindLocalRanks(const Launch& launch, int process = 0);

/// The end of a sentence on who is missing while ranks join ("rank 1 has ended, rank 2 (process 71)
/// is stopped"); "" if unknown.
std::string NameMissing(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks);

/// True if all ranks are on this machine and one of them has ended, so it cannot join.
bool OneHasEnded(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks);

/// Whether this rank reports for the waiting ranks of this machine: it is the lowest.
bool IsFirstToJoin(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks);

/// Whether this is the first of this machine's ranks that failed before joining, so that all lower
/// ones wait for it. Waits up to five seconds until the lower ones wait or have ended.
bool IsFirstToFail(const Launch& launch);

}  // namespace yoke
