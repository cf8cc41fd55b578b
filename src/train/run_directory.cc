// RunDirectory: made, locked, and given its job.
#include "train/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
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

/// What a run writes into its folder before its first checkpoint; the TensorBoard file's name goes
/// on with time and machine, a rank's log with its number.
constexpr const char* kFiles[] = {"job.toml", "lock", "metrics.jsonl", "log.txt", "summary.json"};
constexpr const char* kEventFile = "events.out.tfevents.";
constexpr const char* kLogOfRank = "log-";  // and its number

bool IsOurs(std::string name) {
  if (name.ends_with(".new")) name.resize(name.size() - 4);  // one that ReplaceFile did not finish
  return name.starts_with(kEventFile) || (name.starts_with(kLogOfRank) && name.ends_with(".txt")) ||
         std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  return entries;
}

/// The folder and those that it lies in, as far as they do not exist; innermost first.
std::vector<fs::path> Missing(fs::path folder) {
  std::vector<fs::path> missing;
  for (; !folder.empty() && !fs::exists(folder); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

/// Makes a folder that did not exist: runs/<job>-<time>, with a number behind it where that is
/// taken.
std::string MakeNew(const std::string& job) {
  fs::create_directories("runs");
  const std::string name = fmt::format("runs/{}-{}", job, TimeText());
  for (int i = 1;; ++i) {
    std::string path = i == 1 ? name : fmt::format("{}-{}", name, i);
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
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      found_(std::move(other.found_)),
      made_(std::move(other.made_)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) close(lock_);
}

RunDirectory RunDirectory::Create(const std::string& path, const Job& job) {
  try {
    std::vector<fs::path> made = Missing(path.empty() ? "runs" : path);
    if (!path.empty()) fs::create_directories(path);
    const std::string folder = path.empty() ? MakeNew(job.name) : path;
    if (path.empty()) made.insert(made.begin(), folder);
    std::vector<fs::path> found = Entries(folder);
    RunDirectory run(folder);
    run.made_ = std::move(made);
    run.found_ = std::move(found);
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
  for (const fs::path& entry : Entries(path_))
    if (IsOurs(entry.filename()) && std::find(found_.begin(), found_.end(), entry) == found_.end())
      fs::remove(entry, none);
  for (const fs::path& folder : made_) fs::remove(folder, none);  // Only an empty one goes.
}

void RunDirectory::WriteJob(const Job& job) const {
  const std::string text =
      fmt::format("# The job as it ran, by yoke {} ({}). Continue: yoke train --resume {}\n{}",
                  Version(), Commit(), path_, FormatToml(job.resolved));
  ReplaceFile(path_ + "/job.toml", text);
}

}  // namespace yoke
