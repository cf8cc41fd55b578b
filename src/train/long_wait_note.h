// LongWaitNote: tells of waits in a simulation that would end a run on real nodes.
#pragma once

#include <string>

#include "comm/simulated/timeline.h"
#include "train/job/job.h"

namespace yoke {

/// A sentence for the end of a run if a rank has waited longer than cluster.timeout, or "".
/// `timeline`: null if nothing is simulated.
std::string LongWaitNote(const Timeline* timeline, const Job& job);

}  // namespace yoke
