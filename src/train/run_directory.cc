// RunDirectory: made, locked, and given its job.
#include "train/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/version.h"
#include "train/files.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

/// Makes a folder that did not exist: runs/<job>-<time>, with a number behind it where that is
/// taken.
std::string MakeNew(const std::string& job) {
  fs::create_directories("runs");
  const std::string name = fmt::format("runs/{}-{}", job, TimeText());
  for (int i = 1;; ++i) {
    const std::string path = i == 1 ? name : fmt::format("{}-{}", name, i);
    if (fs::create_directory(path)) return path;
  }
}

std::string CannotMake(const std::string& path, const std::error_code& why) {
  return fmt::format("cannot make the run directory {}: {}", path, why.message());
}

}  // namespace

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {
  const std::string file = path_ + "/lock";
  lock_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw UserError(fmt::format("cannot write {}: {}", file, std::strerror(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  close(std::exchange(lock_, -1));
  throw UserError(fmt::format(
      "another process is writing the run {}; wait for it, or name another directory by --run",
      path_));
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) close(lock_);
}

RunDirectory RunDirectory::Create(const std::string& path, const Job& job) {
  try {
    if (!path.empty()) fs::create_directories(path);
    RunDirectory run(path.empty() ? MakeNew(job.name) : path);
    Require(
        !fs::exists(run.path_ + "/job.toml"),
        "{} holds a run already; continue it with --resume {}, or name another directory by --run",
        run.path_, run.path_);
    run.WriteJob(job);
    return run;
  } catch (const fs::filesystem_error& problem) {
    throw UserError(CannotMake(path.empty() ? problem.path1().string() : path, problem.code()));
  }
}

RunDirectory RunDirectory::Resume(const std::string& path) {
  Require(fs::exists(path + "/job.toml"), "{} holds no run to resume (there is no {}/job.toml)",
          path, path);
  return RunDirectory(path);
}

void RunDirectory::Abandon() {
  std::error_code none;
  for (const char* file : {"/job.toml", "/lock"}) fs::remove(path_ + file, none);
  fs::remove(path_, none);  // Only an empty folder goes.
}

void RunDirectory::WriteJob(const Job& job) const {
  const std::string text =
      fmt::format("# The job as it ran, by yoke {} ({}). Continue: yoke train --resume {}\n{}",
                  Version(), Commit(), path_, FormatToml(job.resolved));
  ReplaceFile(path_ + "/job.toml", text);
}

}  // namespace yoke
