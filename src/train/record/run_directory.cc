// RunDirectory: creates, locks and resumes the folder of a run.
#include "train/record/run_directory.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/utf8.h"
#include "base/version.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"
#include "train/job/parts.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// The files of a run before its first checkpoint. The TensorBoard file's name ends in time and
/// host name, a rank's log in its number.
constexpr const char* kFiles[] = {"job.toml", "lock",         "metrics.jsonl",
                                  "log.txt",  "summary.json", "plan.toml"};
constexpr const char* kEventFile = "events.out.tfevents.";
constexpr const char* kLogOfRank = "log-";  // followed by the rank

bool IsOurs(std::string_view name) {
  if (const auto origin = OriginOf(name); !origin.empty()) name = origin;  // of a killed process
  return name.starts_with(kEventFile) || (name.starts_with(kLogOfRank) && name.ends_with(".txt")) ||
         std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  return entries;
}

constexpr const char* kJobFile = "/job.toml";

/// A file that prevents a run from starting in `folder`, or "". The folder may hold only the files
/// of a process that was killed before it wrote its job.
std::string InTheWay(const std::string& folder) {
  for (const fs::path& entry : Entries(folder))
    if (std::string name = entry.filename(); name != "lock" && OriginOf(name) != "job.toml")
      return name;
  return "";
}

void RequireFree(const std::string& folder) {
  const std::string file = InTheWay(folder);
  const bool holds_run = fs::exists(folder + kJobFile) || fs::exists(folder + "/checkpoints");
  Require(
      !holds_run,
      "{} holds a run already; continue it with --resume {}, or name another directory with --run",
      folder, folder);
  Require(file.empty(), "{} holds other files ({}); name a new or empty directory with --run",
          folder, file);
}

/// `text` as part of a file name: '_' replaces bytes that are not plain ASCII.
std::string AsName(std::string text) {
  if (!IsPlain(text))
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '_');
  return text;
}

/// The folder and its parents that do not exist, innermost first.
std::vector<fs::path> Missing(fs::path folder) {
  std::vector<fs::path> missing;
  for (; !folder.empty() && !fs::exists(folder); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

/// Makes a new folder runs/<job>-<time>, with a number appended if it exists.
std::string MakeNew(const std::string& job) {
  fs::create_directories("runs");
  const std::string name = fmt::format("runs/{}-{}", AsName(job), LocalTime("%Y%m%d-%H%M%S"));
  for (int i = 1;; ++i) {
    std::string path = i == 1 ? name : fmt::format("{}-{}", name, i);
    if (fs::create_directory(path)) return path;
  }
}

std::string CannotMake(const std::string& path, const std::error_code& why) {
  return fmt::format("cannot make the run directory {}: {}", path, why.message());
}

void RequireRun(const std::string& folder) {
  Require(fs::exists(folder), "there is no run directory {}", folder);
  Require(fs::exists(folder + kJobFile) || fs::exists(folder + "/checkpoints"),
          "{} holds no run: it has neither job.toml nor checkpoints", folder);
}

/// Runs from before the key `form` have written the default of predict_weights, which would count
/// as a wish under the paper's.
void RequireKnownForm(const Value& old, const Job& job, const Overrides& overrides) {
  const Value* cluster = old.Find("cluster");
  const Value& now = *job.resolved.Find("cluster");
  const Value* form = now.Find("form");
  const bool predicts = form && *form == Value("paper") && now.Find("predict_weights");
  const bool given =
      std::ranges::find(overrides, "cluster.predict_weights", &Override::key) != overrides.end();
  Require(!cluster || cluster->Find("form") || !predicts || given,
          "cluster.form: the run is older than this key, and its job.toml says predict_weights "
          "without having been asked: give cluster.predict_weights too");
}

Value ReadRunJob(const std::string& run) {
  if (fs::exists(run + kJobFile)) return ReadOwnToml(run + kJobFile);
  const std::optional<CheckpointHeader> header = NewestHeader(run);
  Require(header.has_value(),
          "{} cannot be resumed: it has no job.toml, and no checkpoint is whole", run);
  return header->job;
}

/// train.velocity where the job does not say and the run has a velocity of the other kind than the
/// default (older versions had one default for all strategies), else "".
std::string OtherVelocity(const std::string& run, const Job& job) {
  if (job.resolved.Find("train")->Find("velocity")) return "";
  const std::vector<std::string> state = RuleOf(job)->StateNames();
  const bool steps = state == std::vector<std::string>{"velocity"};
  if (!steps && state != std::vector<std::string>{"momentum"}) return "";
  const std::optional<Checkpoint> newest = OpenNewest(run);
  const bool other = newest && SameKey(job, newest->header(), "train", "rule") &&
                     newest->HasState(steps ? "momentum" : "velocity");
  if (!other) return "";
  return steps ? "gradients" : "steps";
}

}  // namespace

bool IsPartOfRun(const std::string& path) {
  std::error_code none;
  const fs::path real = fs::canonical(path, none);
  const std::string folder = real.parent_path();
  if (IsOurs(real.filename().native()))
    return fs::exists(folder + "/lock", none) && fs::exists(folder + kJobFile, none);
  return IsPartOfCheckpoint(real);
}

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {
  lock_ = OpenRegular(path_ + "/lock");
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  close(std::exchange(lock_, -1));
  throw UserError(fmt::format(
      "another process is writing the run {}; wait for it, or name another directory with --run",
      path_));
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      made_(std::move(other.made_)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) close(lock_);
}

RunDirectory RunDirectory::Create(const std::string& path, const Job& job) {
  Require(IsPlain(path),
          "the run directory '{}' has a control character or is not UTF-8; expected a plain name",
          OneLine(path));
  try {
    std::vector<fs::path> made = Missing(path.empty() ? "runs" : path);
    if (!path.empty()) fs::create_directories(path);
    const std::string folder = path.empty() ? MakeNew(job.name) : path;
    if (path.empty()) made.insert(made.begin(), folder);
    if (!fs::exists(folder + "/lock")) RequireFree(folder);  // before writing a lock
    RunDirectory run(folder);
    RequireFree(folder);
    run.made_ = std::move(made);
    run.WriteJob(job);
    return run;
  } catch (const fs::filesystem_error& problem) {
    throw UserError(CannotMake(path.empty() ? problem.path1().string() : path, problem.code()));
  }
}

RunDirectory RunDirectory::Resume(const std::string& path) {
  RequireRun(path);
  RunDirectory run(path);
  std::error_code none;
  for (const fs::path& entry : Entries(path))  // left by killed processes
    if (!OriginOf(entry.filename().native()).empty()) fs::remove(entry, none);
  return run;
}

void RunDirectory::Abandon() {
  std::error_code none;
  for (const fs::path& entry : Entries(path_))
    if (IsOurs(entry.filename().native())) fs::remove(entry, none);
  for (const fs::path& folder : made_) fs::remove(folder, none);  // removes only empty folders
}

void RunDirectory::WriteJob(const Job& job) const {
  const std::string text = fmt::format(
      "# The job as it ran, by yoke {} ({}). Continue: yoke train --resume {}\n"
      "# Paths are absolute, and $NAME has become its value.\n{}",
      Version(), Commit(), OneLine(path_), FormatToml(job.resolved));
  ReplaceFile(path_ + kJobFile, text);
}

bool RunDirectory::HasJob() const { return fs::exists(path_ + kJobFile); }

Job LoadRunJob(const std::string& run, const Overrides& overrides) {
  RequireRun(run);
  const Value old = ReadRunJob(run);
  Job job = MakeResolvedJob(old, overrides);
  RequireKnownForm(old, job, overrides);
  const std::string velocity = OtherVelocity(run, job);
  if (velocity.empty()) return job;
  Overrides all = overrides;
  all.push_back({"train.velocity", velocity});
  return MakeResolvedJob(old, all);
}

void RequireNoInput(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;  // OutputFile judges it
  for (const std::string& input : inputs)
    Require(!std::filesystem::equivalent(path, input, none),
            "{}: the output would replace the input {}; name another file", path, input);
  Require(!IsPartOfRun(path), "{}: the output would replace part of a run; name another file",
          path);
}

}  // namespace yoke
