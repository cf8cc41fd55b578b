// Growth: what `yoke bench JOB --growth` prints, and a sentence of it for `yoke doctor JOB`.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/output.h"
#include "measure/growth.h"
#include "train/job/job.h"

namespace yoke {

/// Steps of the job by teams of each size, the first of one thread.
Growth GrowthOf(const Job& job, const std::vector<int>& teams, double seconds,
                const std::atomic<int>& stop);

/// The last team to which more threads are worth it, and what the next would gain; "": all are.
std::string EndOfGrowth(const Growth& growth);

void PrintGrowth(const std::string& job, const Growth& growth, Output& out);

}  // namespace yoke
