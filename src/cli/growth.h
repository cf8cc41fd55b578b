// Growth: what `yoke bench JOB --growth` prints, and a sentence of it for `yoke doctor JOB`.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/output.h"
#include "measure/cluster_writer.h"
#include "measure/growth.h"
#include "train/job/job.h"

namespace yoke {

/// Steps of the job by teams of each size, the first of one thread.
Growth GrowthOf(const Job& job, const std::vector<int>& teams, double seconds,
                const std::atomic<int>& stop);

/// The last team to which more threads are worth it, and what the next would gain; "": all are.
std::string EndOfGrowth(const Growth& growth);

/// A machine that a file is to describe: the job's teams are computed for it.
struct MachineOrder {
  std::vector<int> teams;  ///< Rising, from 1 to all threads.
  SharedMemory memory;     ///< 0 bytes a second: 10 GB/s a thread.
  double seconds = 0;      ///< Of measuring.
  std::string command;     ///< For the file's first line.
};

/// The machine: teams that divide it, each with its part of the batch, and messages in memory as
/// between two threads here. Without nodes: stopped before.
MeasuredCluster MachineOfGrowth(const Job& job, const MachineOrder& order,
                                const std::atomic<int>& stop);

void PrintGrowth(const std::string& job, const Growth& growth, Output& out);

}  // namespace yoke
