// RunDirectory: the folder of one run, held by one writer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/job.h"

namespace yoke {

/// Holds `lock` in the folder from construction to destruction (or the end of the process, however
/// it ends).
class RunDirectory {
 public:
  /// Makes a new run: `path`, or runs/<job>-<time> (never one that exists) when it is empty. Writes
  /// the resolved job to job.toml. Throws UserError when the folder holds a run or other files,
  /// when another process writes it, or when its name is not plain text.
  static RunDirectory Create(const std::string& path, const Job& job);
  /// Takes up the run that `path` holds; its files stay as they are. Throws UserError when there is
  /// none, or another process writes it.
  static RunDirectory Resume(const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  /// Writes the resolved job to job.toml, in place of the one before.
  void WriteJob(const Job& job) const;
  bool HasJob() const;  ///< job.toml is there.
  /// Takes back a new run that could not begin: removes the files and folders that it made, and
  /// nothing else. For a run without checkpoints, after its record is closed.
  void Abandon();

  const std::string& path() const { return path_; }  ///< As given or made.

 private:
  explicit RunDirectory(std::string path);

  std::string path_;
  int lock_ = -1;
  std::vector<std::filesystem::path> made_;  ///< Folders that a new run made, innermost first.
};

/// The job of a run, with overrides: that of job.toml, or of the newest checkpoint where job.toml
/// is lost. Throws UserError where there is neither.
Job LoadRunJob(const std::string& run, const Overrides& overrides);

}  // namespace yoke
