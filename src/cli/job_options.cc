// JobOptions: each short flag sets a key of the job.
#include "cli/job_options.h"

#include "base/check.h"

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
}

Overrides JobOptions::Read() const {
  Overrides overrides = flags_;
  for (const std::string& set : sets_) {
    const size_t equals = set.find('=');
    Require(equals != std::string::npos && equals > 0,
            "--set expects key=value, such as train.epochs=20; got '{}'", set);
    overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return overrides;
}

}  // namespace yoke
