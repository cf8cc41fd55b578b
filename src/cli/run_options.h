// JobOptions: the options that change keys of a job. RunOptions: what the commands that train
// share: job, run directory, keys, progress, exit status.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "train/job/job.h"
#include "train/run_request.h"

namespace yoke {

class Arguments;
struct ClusterFile;

/// These keys as options of a command: " --replicas 4 --set train.batch=8".
std::string WordsOf(const Overrides& keys);

/// `--set KEY=VALUE` and the short flags such as `--threads N`.
class JobOptions {
 public:
  void Declare(Arguments& arguments);
  /// The settings of the command line, short flags first. Throws UserError for a --set without `=`.
  Overrides Read() const;

 private:
  Overrides flags_;
  std::vector<std::string> devices_, sets_;
};

/// JOB, `--run DIR`, `--plan FILE`, `--auto`, `--quiet` and the options of JobOptions.
class RunOptions {
 public:
  void Declare(Arguments& arguments);
  const std::string& job() const { return job_; }
  const std::string& run() const { return run_; }
  bool quiet() const { return quiet_; }
  bool opens_all() const { return auto_; }
  /// Those of the plan first, then the command line's.
  Overrides Keys() const;
  /// The job with these keys. With `--auto` all keys that may be "auto" are, where it does not have
  /// them; otherwise those of `open`.
  Job Load(const Overrides& keys, const std::vector<std::string>& open = {}) const;
  /// Trains, with progress to `out` unless quiet; returns the exit status. Throws WorldError if
  /// training diverged, and on a launcher's ranks that do not print. `cluster`: as for MakePlanner.
  int Train(const Job& job, RunRequest request, Output& out,
            const ClusterFile* cluster = nullptr) const;

 private:
  std::string job_;
  std::string run_;
  std::string plan_;
  JobOptions set_;
  bool quiet_ = false;
  bool auto_ = false;
};

/// Each process of this process's launcher is a replica; does nothing without a launcher.
void SetReplicasOfLaunch(Overrides& keys);

}  // namespace yoke
