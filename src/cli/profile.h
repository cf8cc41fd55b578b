// `yoke simulate --profile`: measures this machine, and the network of a running world, and writes
// them as a cluster file.
#pragma once

#include <string>

#include "cli/output.h"
#include "train/job/job.h"

namespace yoke {

struct ProfileOrder {
  std::string job;      ///< The job file.
  Overrides keys = {};  ///< Of the command line.
  std::string file;     ///< The cluster file to write; an existing one is replaced.
  bool quiet = false;
};

/// Measures with the processes of a launcher or, without one, with as many threads as the job has
/// replicas; rank 0 writes and prints. Throws UserError for a job that computes on other devices
/// than the CPU, and where the file cannot be written.
void WriteProfile(const ProfileOrder& order, Output& out);

}  // namespace yoke
