// Job: a job file with overrides, checked completely and resolved before any data are read.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/topology.h"

namespace yoke {

/// A job ready to run. `resolved` has all sections with defaults, absolute paths and expanded
/// environment variables. A run directory keeps it as job.toml, and loading that gives the same
/// job.
struct Job {
  std::string name;  ///< File name without ".toml", used for the default run directory.
  Value resolved;
  Options train;       ///< [train] with the chosen rule's keys.
  Options node;        ///< [node] with the chosen executor's keys.
  Options cluster;     ///< [cluster] with the chosen strategy's keys.
  Options checkpoint;  ///< [checkpoint]: interval in steps, minutes, epochs; keep; best.
  /// Keys that are "auto", of OpenKeys(), and those that LoadJob was asked for. A planner chooses
  /// them (train/planner.h); until then they have their defaults.
  std::vector<std::string> open;

  const Value& data() const { return *resolved.Find("data"); }
  const Value& model() const { return *resolved.Find("model"); }
  uint64_t seed() const { return static_cast<uint64_t>(train.Int("seed")); }
  /// [node] kernels, or the environment's YOKE_KERNELS.
  bool ReferenceKernels() const;
  /// The compute threads and their cores, from [node] threads and pin and the cores of this
  /// process, for one of several ranks in it.
  ThreadPlan Plan(const LocalRank& inside = {}) const;
  int Threads() const { return Plan().threads; }
};

/// The files and folders that the job names, and the file `path` that it was read from.
std::vector<std::string> InputsOf(const Job& job, const std::string& path);

/// The keys that may be "auto": node.executor, cluster.strategy, ...
const std::vector<std::string>& OpenKeys();

/// A key set on the command line. The value "" removes the key, which restores its default.
/// Relative paths are relative to the current directory.
struct Override {
  std::string key;             ///< section.key
  std::string value;           ///< TOML; a bare word is a string.
  std::string flag = "--set";  ///< The flag as typed, which messages begin with.
  bool text = false;  ///< The value is a string even if it looks like something else ("5").
};
using Overrides = std::vector<Override>;  ///< In order.

/// Reads and checks a job file. Throws UserError for unknown sections, keys and names (with the
/// nearest known one and the list), wrong types and ranges: one sentence with file and line.
/// Relative paths become absolute, based on the job file's folder. AskedKeys come last.
/// `open`: keys that are "auto" where the job does not have them, and its parts know them.
Job LoadJob(const std::string& path, const Overrides& overrides,
            const std::vector<std::string>& open = {});
/// node.devices, if the environment's YOKE_DEVICES names them.
Overrides AskedKeys();
/// The same from the job that a run keeps, which is already resolved, so a `$` in its paths is
/// literal; overrides are as above.
Job MakeResolvedJob(Value root, const Overrides& overrides);

/// The same from a value already read (tests, checkpoints). Relative paths are relative to
/// `folder`; "" for a resolved job, whose paths are not changed.
Job MakeJob(Value root, const std::string& name, const std::string& folder);

/// The job with other keys, as MakeResolvedJob, and the same name.
Job WithKeys(const Job& job, const Overrides& overrides);

/// Every key of a job, by section, with the part it belongs to: what `yoke list keys` prints.
struct KeyGroup {
  std::string section;  ///< "train"
  std::string part;     ///< "" for keys of every job, otherwise for example "rule adam".
  std::vector<OptionSpec> options;
};
std::vector<KeyGroup> AllKeys();

/// All keys as a page of Markdown.
std::string KeysPage();

/// Parses "90s", "10m", "2h", "1.5h" or a bare number of seconds. Throws UserError that begins with
/// `where`.
double ParseDuration(const std::string& text, const std::string& where);

/// Replaces `$NAME` and `${NAME}` in a path by environment variables. Throws UserError with a
/// variable that is not set.
std::string ExpandEnvironment(const std::string& path);

/// Where a job's table comes from.
struct TableOrigin {
  std::string name = "job";  ///< Used for the default run directory.
  std::string folder = {};   ///< Base of relative paths, absolute.
};

/// The same as LoadJob for the content of a job file.
Job JobOfTable(Value root, const TableOrigin& origin, const Overrides& overrides,
               const std::vector<std::string>& open);

}  // namespace yoke
