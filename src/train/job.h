// Job: a job file with overrides, checked whole and resolved before any data is read.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/topology.h"

namespace yoke {

/// A job ready to run. `resolved` (all sections, defaults included, absolute paths, environment
/// expanded) is what a run directory keeps as job.toml; loading that gives the same job.
struct Job {
  std::string name;  ///< File name without ".toml": the default run directory is named after it.
  Value resolved;
  Options train;       ///< [train] with the chosen rule's keys.
  Options node;        ///< [node] with the chosen executor's keys.
  Options cluster;     ///< [cluster] with the chosen strategy's keys.
  Options checkpoint;  ///< [checkpoint]: interval in steps, minutes, epochs; keep; best.

  const Value& data() const { return *resolved.Find("data"); }
  const Value& model() const { return *resolved.Find("model"); }
  uint64_t seed() const { return static_cast<uint64_t>(train.Int("seed")); }
  /// [node] kernels, which the environment's YOKE_KERNELS has had its say in.
  bool ReferenceKernels() const;
  /// How many threads compute and where, by [node] threads and pin and what this process may use;
  /// for one of several ranks inside it.
  ThreadPlan Plan(const LocalRank& inside = {}) const;
  int Threads() const { return Plan().threads; }
};

/// One key that the command line sets. A value of "" removes the key, so that its default holds
/// again. A relative path is relative to the current directory.
struct Override {
  std::string key;             ///< section.key
  std::string value;           ///< TOML; a bare word counts as a text.
  std::string flag = "--set";  ///< What was typed: messages begin with it.
  bool text = false;           ///< The value is a text, whatever it looks like ("5").
};
using Overrides = std::vector<Override>;  ///< In order.

/// Reads and checks a job file. Throws UserError: unknown sections, keys and names (with the
/// nearest and the list), wrong types, ranges, one sentence each, with file and line. Relative
/// paths become absolute against the job file's folder.
Job LoadJob(const std::string& path, const Overrides& overrides);
/// The same from the job that a run keeps: resolved, so that a `$` in its paths is a `$`; overrides
/// are as above.
Job MakeResolvedJob(Value root, const Overrides& overrides);

/// The same from a value already read (tests, checkpoints); `folder` is what relative paths are
/// relative to, "" for a resolved job, whose paths are taken as they stand.
Job MakeJob(Value root, const std::string& name, const std::string& folder);

/// Every key a job can hold, by section, with the part it belongs to: the source of
/// docs/job-keys.md.
struct KeyGroup {
  std::string section;  ///< "train"
  std::string part;     ///< "" for keys every job has, else "rule adam".
  std::vector<OptionSpec> options;
};
std::vector<KeyGroup> AllKeys();

/// docs/job-keys.md as it must read (a test compares).
std::string KeysPage();

/// "90s", "10m", "2h", "1.5h" or a bare number of seconds, as seconds. Throws UserError that begins
/// with `where`.
double ParseDuration(const std::string& text, const std::string& where);

/// A path with `$NAME` and `${NAME}` replaced by the environment's; throws UserError naming a
/// variable that is not set.
std::string ExpandEnvironment(const std::string& path);

}  // namespace yoke
