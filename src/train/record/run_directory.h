// RunDirectory: the folder of one run, held by one writer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/job/job.h"

namespace yoke {

/// Holds `lock` in the folder from construction to destruction, or until the process ends.
class RunDirectory {
 public:
  /// Makes a new run at `path` or, if that is empty, at runs/<job>-<time> (never an existing
  /// folder). Writes the resolved job to job.toml. Throws UserError when the folder holds a run or
  /// other files, when another process writes it, or when its name is not plain text.
  static RunDirectory Create(const std::string& path, const Job& job);
  /// Opens the existing run at `path` and changes none of its files; what a killed process left
  /// half written is removed. Throws UserError if there is none, or another process writes it.
  static RunDirectory Resume(const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  /// Replaces job.toml by the resolved job.
  void WriteJob(const Job& job) const;
  bool HasJob() const;  ///< Whether job.toml exists.
  /// Removes a new run that could not start: only the files and folders that it made. The run must
  /// have no checkpoints, and its record must be closed.
  void Abandon();

  const std::string& path() const { return path_; }  ///< The path as given or generated.

 private:
  explicit RunDirectory(std::string path);

  std::string path_;
  int lock_ = -1;
  std::vector<std::filesystem::path> made_;  ///< Folders made by a new run, innermost first.
};

/// Whether `path` is a file that a run or a checkpoint consists of, whichever it is.
bool IsPartOfRun(const std::string& path);

/// The job of a run, with overrides: from job.toml or, if that is missing, from the newest
/// checkpoint. A velocity stays of its kind where the job does not say (train.velocity). Throws
/// UserError if there is neither.
Job LoadRunJob(const std::string& run, const Overrides& overrides);

/// Throws UserError if `path` is one of the files that are read, under whatever name, or part of a
/// run.
void RequireNoInput(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace yoke
