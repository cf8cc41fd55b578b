// Siblings: the processes that the launcher started on this machine, as /proc shows them. They
// cannot be asked before they have joined.
#pragma once

#include <string>
#include <vector>

#include "comm/launcher.h"

namespace yoke {

/// A rank of this machine. With a script around the program it is several processes.
struct Sibling {
  int rank = 0;
  int process = 0;       ///< One of them.
  bool joining = false;  ///< One of them waits for the others (MarkAsJoining).
  bool stopped = false;  ///< One of them stands still (SIGSTOP, a debugger).
};

/// Marks this process, for all that look, until the calling thread ends.
void MarkAsJoining();

/// The ranks of this machine by rank, that of `process` (0: this one) among them; one that has
/// ended is not there. Empty where they cannot be seen (each in a container of its own).
std::vector<Sibling> FindSiblings(const Launch& launch, int process = 0);

/// Who of them is missing while ranks come together, as the end of a sentence ("rank 1 has ended,
/// rank 2 (process 71) is stopped"); "" where that cannot be known.
std::string NameMissing(const Launch& launch, const std::vector<Sibling>& siblings);

/// All ranks are on this machine, and one of them is not there any more: it cannot join.
bool OneHasEnded(const Launch& launch, const std::vector<Sibling>& siblings);

/// Whether this rank speaks for those of this machine that wait: none of them is lower.
bool IsFirstToJoin(const Launch& launch, const std::vector<Sibling>& siblings);

/// Of this machine's ranks that have failed before they could join: whether this one is the first,
/// so that all lower ones wait for it. Waits for up to five seconds until they do or have ended.
bool IsFirstToFail(const Launch& launch);

}  // namespace yoke
