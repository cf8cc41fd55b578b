// SmallerJob: the job as the survivors of a world continue it.
#pragma once

#include <string>
#include <vector>

#include "train/job/job.h"

namespace yoke {

/// The job for a smaller world. Options of the strategy that do not fit are reset to their
/// defaults, of which `messages` tells. Throws UserError if the strategy does not fit in any case.
Job SmallerJob(const Job& job, int ranks, std::vector<std::string>& messages);

}  // namespace yoke
