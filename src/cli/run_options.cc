// JobOptions: each short flag sets a key of the job. RunOptions: trains with them.
#include "cli/run_options.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "api/run_job.h"
#include "base/check.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "comm/launcher.h"
#include "comm/wire_transport.h"
#include "plan/plan.h"

namespace yoke {
namespace {

/// `--threads 4` is short for `--set node.threads=4`.
struct ShortFlag {
  const char* name;
  const char* value;
  const char* key;
  const char* help;
  bool text = true;  ///< The value is a string.
};

constexpr ShortFlag kShortFlags[] = {
    {"--time-limit", "TIME", "train.time_limit", "Stop in order after 90s, 10m, 2h"},
    {"--threads", "N", "node.threads",
     "Number of compute threads (default: the cores this process may use)", false},
    {"--replicas", "N", "cluster.replicas", "Copies of the model that train together", false},
    {"--executor", "NAME", "node.executor", "How the node's devices divide the work"},
    {"--strategy", "NAME", "cluster.strategy", "What replicas exchange, and when"},
    {"--precision", "TYPE", "node.precision", "f32, or bf16 arithmetic over f32 weights"},
};

}  // namespace

std::string WordsOf(const Overrides& keys) {
  std::string text;
  for (const Override& key : keys)
    text += key.flag == "--set" ? fmt::format(" --set {}={}", key.key, key.value)
                                : fmt::format(" {} {}", key.flag, key.value);
  return text;
}

void JobOptions::Declare(Arguments& arguments) {
  arguments.Option("--set", "KEY=VALUE", &sets_, "Set any key of the job; may be repeated")
      .OneEach();
  for (const ShortFlag& flag : kShortFlags)
    arguments.Option(
        flag.name, flag.value,
        std::function<void(const std::string&)>([this, &flag](const std::string& value) {
          flags_.push_back({flag.key, value, flag.name, flag.text});
        }),
        flag.help);
  arguments
      .Option("--devices", "A,B,...", &devices_,
              "Devices that compute (default: all of the machine)")
      .Commas();
}

Overrides JobOptions::Read() const {
  Overrides overrides = flags_;
  if (!devices_.empty())
    overrides.push_back({"node.devices", FormatValue(ListOf(devices_)), "--devices"});
  for (const std::string& set : sets_) {
    const size_t equals = set.find('=');
    Require(equals != std::string::npos && equals > 0,
            "--set expects key=value, such as train.epochs=20; got '{}'", set);
    overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return overrides;
}

void RunOptions::Declare(Arguments& arguments) {
  arguments.Place("JOB", &job_, "The job file (TOML)");
  arguments.Option("--run", "DIR", &run_, "Run directory (default: runs/<job>-<time>)")
      .Check([](const std::string& text) {
        return std::string(text.empty() ? "expected a folder, got an empty name" : "");
      });
  arguments.Option("--plan", "FILE", &plan_,
                   "Set the keys that `yoke plan --output FILE` has chosen");
  arguments.Flag("--auto", &auto_,
                 "Choose what the job does not say: executor, strategy, precision, learning rate, "
                 "momentum");
  set_.Declare(arguments);
  arguments.Flag("--quiet,-q", &quiet_, "Print errors only");
}

Overrides RunOptions::Keys() const {
  Overrides keys = plan_.empty() ? Overrides() : ReadPlanKeys(plan_);
  const Overrides set = set_.Read();
  keys.insert(keys.end(), set.begin(), set.end());
  return keys;
}

Job RunOptions::Load(const Overrides& keys, const std::vector<std::string>& open) const {
  return LoadJob(job_, keys, auto_ ? OpenKeys() : open);
}

int RunOptions::Train(const Job& job, RunRequest request, Output& out,
                      const ClusterFile* cluster) const {
  const std::unique_ptr<Observer> progress = MakeProgress(out);
  if (!quiet_) request.observers.push_back(progress.get());
  const EndEvent end = RunJob(job, std::move(request), cluster);
  // The other ranks end later, because a launcher ends all processes when one fails.
  if (end.exit_status != 0 && !PrintsForAll())
    throw WorldError("", end.exit_status, /*tell=*/false);
  return end.exit_status;
}

void SetReplicasOfLaunch(Overrides& keys) {
  const Launch launch = FindLaunch();
  if (launch.launcher.empty()) return;
  SetReplicas(
      launch.size,
      fmt::format("{} started {} processes, and each is a replica", launch.launcher, launch.size),
      keys);
}

}  // namespace yoke
