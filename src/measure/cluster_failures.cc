// ClusterFailures: reads the table; draws the lives of nodes.
#include "measure/cluster_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "base/random.h"

namespace yoke {
namespace {

constexpr double kMostSeconds = 1e12;

OptionSpec Seconds(const char* name, const char* help) {
  return {.name = name,
          .type = OptionType::kFloat,
          .help = help,
          .minimum = 0,
          .maximum = kMostSeconds};
}
OptionSpec SecondsOr(const char* name, double fallback, const char* help) {
  OptionSpec spec = Seconds(name, help);
  spec.fallback = fallback;
  return spec;
}

ClusterFailures::Death ReadDeath(const Value& table, int nodes) {
  OptionSpec node = {.name = "node",
                     .type = OptionType::kInt,
                     .help = "Which one, from 0.",
                     .minimum = 0,
                     .maximum = nodes - 1.0,
                     .required = true};
  OptionSpec seconds = Seconds("seconds", "When, from the beginning.");
  seconds.required = true;
  const std::vector<OptionSpec> specs = {node, seconds};
  const Options options("failures.at", table, specs);
  return {.node = static_cast<int>(options.Int("node")), .seconds = options.Float("seconds")};
}

double Lifetime(double mean, Random random) { return -mean * std::log1p(-random.Uniform()); }

}  // namespace

ClusterFailures ReadFailures(const Value& table, int nodes) {
  OptionSpec mean = Seconds("mean_time_between", "Of the failures of one node.");
  mean.exclusive_minimum = true;
  const std::vector<OptionSpec> specs = {
      mean,
      {.name = "at",
       .type = OptionType::kTables,
       .help = "Failures at stated times, as { node = 3, seconds = 120 }."},
      SecondsOr("detection", 5, "From a failure until the other nodes know."),
      SecondsOr("restart", 0, "Until the processes have formed a new world."),
      {.name = "recovery",
       .fallback = "survivors",
       .help = "survivors, or restart from the newest checkpoint with all nodes.",
       .choices = {"survivors", "restart"}},
      Seconds("replacement", "Until a lost node is replaced."),
      {.name = "checkpoint_bytes_per_second",
       .type = OptionType::kFloat,
       .help = "Of writing and reading a checkpoint.",
       .minimum = 1}};
  const Options options("failures", table, specs);
  ClusterFailures failures = {.detection = options.Float("detection"),
                              .restart = options.Float("restart"),
                              .replaces = options.String("recovery") == "restart"};
  if (options.Has("mean_time_between"))
    failures.mean_time_between = options.Float("mean_time_between");
  if (options.Has("at"))
    for (const Value& death : *options.Raw("at").AsList())
      failures.at.push_back(ReadDeath(death, nodes));
  if (options.Has("replacement")) {
    Require(failures.replaces,
            "{}: belongs to recovery = \"restart\", and survivors go on without the lost node",
            options.Where("replacement"));
    failures.replacement = options.Float("replacement");
  }
  if (options.Has("checkpoint_bytes_per_second"))
    failures.checkpoint_bytes_per_second = options.Float("checkpoint_bytes_per_second");
  return failures;
}

SimulatedFailures Simulated(const ClusterFailures& failures, std::vector<double> means,
                            uint64_t seed) {
  SimulatedFailures simulated = {.detection = failures.detection,
                                 .restart = failures.restart + failures.replacement,
                                 .replace = failures.replaces};
  if (failures.at.empty() && std::ranges::count(means, 0) == std::ssize(means)) return simulated;
  simulated.death = [at = failures.at, means = std::move(means), seed](int node, int life,
                                                                       double born) {
    double death = std::numeric_limits<double>::infinity();
    if (means[node] > 0)
      death = born +
              Lifetime(means[node], Random({seed, Word(Draw::kFailure), static_cast<uint64_t>(node),
                                            static_cast<uint64_t>(life)}));
    for (const ClusterFailures::Death& stated : at)
      if (stated.node == node && (stated.seconds > born || life == 0))
        death = std::min(death, stated.seconds);
    return death;
  };
  return simulated;
}

}  // namespace yoke
