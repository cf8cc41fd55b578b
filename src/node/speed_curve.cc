// SpeedCurve: the formula, and its file.
#include "node/speed_curve.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/check.h"
#include "base/options.h"

namespace yoke {

double SpeedCurve::Seconds(const Cost& cost, const WorkPlace& place) const {
  const bool one_thread = place.threads > 0;
  const double all = threads, teams = std::clamp<double>(place.teams, 1, all);
  const double team = one_thread ? 1 : all / teams;
  const double gain = (GrowthOf(team) / team) * (all / GrowthOf(all));  // of each thread
  double peak = operations_per_second * gain;
  double bandwidth = Bandwidth(cost, team) * (growth.empty() ? gain : 1);
  double at_once = static_cast<double>(std::max<int64_t>(1, place.examples));
  if (one_thread) {
    peak /= all;
    bandwidth /= place.threads;
    if (thread_bytes_per_second > 0) bandwidth = std::min(bandwidth, thread_bytes_per_second);
  } else {
    at_once = std::max(1.0, at_once / all);
    if (thread_bytes_per_second > 0 && teams > 1)
      bandwidth = std::min(bandwidth, all * thread_bytes_per_second);
  }
  const double computing = cost.operations / (peak * UtilizationAt(at_once));
  const double memory = cost.bytes / bandwidth;
  double seconds = cost.kernels * launch_seconds +
                   (growth.empty() ? computing + memory : std::max(computing, memory));
  if (link_bytes_per_second > 0) seconds += cost.device_bytes / link_bytes_per_second;
  return seconds;
}

double SpeedCurve::GrowthOf(double team) const {
  if (growth.empty()) return team / (1 + team_loss * (team - 1));
  const auto above = growth.lower_bound(static_cast<int>(std::ceil(team)));
  if (above == growth.end()) return std::prev(above)->second;
  if (above == growth.begin()) return above->second;
  const auto& [few, slow] = *std::prev(above);
  const auto& [many, fast] = *above;
  return slow + (fast - slow) * (team - few) / (many - few);
}

/// Of memory that is in part beyond the near one, or another node's.
double SpeedCurve::Bandwidth(const Cost& cost, double team) const {
  const double held = near_bytes == 0 ? 0 : cost.memory / near_bytes;
  const double near = 1 / (std::max(1.0, held) * std::ceil(team * memory_nodes / threads));
  if (near == 1) return bytes_per_second;
  return 1 / (near / bytes_per_second + (1 - near) / far_bytes_per_second);
}

double SpeedCurve::UtilizationAt(double examples) const {
  if (utilizations.empty()) return examples / (examples + half_batch);
  const auto above = std::ranges::upper_bound(utilizations, examples, {}, &Utilization::examples);
  if (above == utilizations.begin()) return above->of_peak;
  const Utilization& below = *std::prev(above);
  if (above == utilizations.end()) return below.of_peak;
  const double part =
      std::log(examples / below.examples) / std::log(above->examples / below.examples);
  return below.of_peak + part * (above->of_peak - below.of_peak);
}

SpeedCurve OneOf(const SpeedCurve& curve, int teams) {
  SpeedCurve one = curve;
  one.threads = std::max(1, curve.threads / teams);
  const double part = curve.GrowthOf(one.threads) / curve.GrowthOf(curve.threads);
  const double bandwidth = curve.growth.empty() ? part : 1.0 / teams;
  one.operations_per_second *= part;
  one.bytes_per_second *= bandwidth;
  one.far_bytes_per_second *= bandwidth;
  one.near_bytes /= teams;
  if (teams > 1 && one.thread_bytes_per_second > 0)
    one.bytes_per_second =
        std::min(one.bytes_per_second, one.threads * one.thread_bytes_per_second);
  // A team has a part of a node, or threads of several.
  one.memory_nodes =
      std::max(1, (curve.memory_nodes * one.threads + curve.threads - 1) / curve.threads);
  one.growth.erase(one.growth.upper_bound(one.threads), one.growth.end());
  if (!one.growth.empty()) one.growth[one.threads] = curve.GrowthOf(one.threads);
  return one;
}

namespace {

/// { 1 = 1.0, 4 = 3.1, ... } up to the curve's threads.
std::map<int, double> GrowthIn(const Options& options) {
  std::map<int, double> growth;
  const int64_t threads = options.Int("threads");
  const std::string where = options.Where("growth");
  for (const auto& [key, value] : *options.Raw("growth").AsTable()) {
    int team = 0;
    const char* const end = key.data() + key.size();
    const auto [stopped, error] = std::from_chars(key.data(), end, team);
    Require(error == std::errc() && stopped == end && team >= 1 && team <= threads,
            "{}: expected threads from 1 to the curve's {}, got '{}'", where, threads, key);
    const std::optional<double> times = value.AsNumber();
    Require(times && *times > 0 && std::isfinite(*times),
            "{}.{}: expected how many times as fast as one thread they are, got {}", where, key,
            FormatValue(value));
    growth[team] = *times;
  }
  Require(growth.contains(1) && growth.contains(static_cast<int>(threads)),
          "{}: expected 1 thread and all {} among its points", where, threads);
  return growth;
}

}  // namespace

SpeedCurve ReadSpeedCurve(const std::string& path) {
  return SpeedCurveOf(ReadToml(path), "device");
}

SpeedCurve SpeedCurveOf(const Value& table, const std::string& section) {
  const auto number = [](const char* name, const char* help) {
    return OptionSpec{.name = name,
                      .type = OptionType::kFloat,
                      .fallback = 0.0,
                      .help = help,
                      .minimum = 0,
                      .maximum = 1e30};
  };
  const auto speed = [&number](const char* name, const char* help) {
    OptionSpec spec = number(name, help);
    spec.fallback = {};
    spec.required = true;
    spec.exclusive_minimum = true;
    return spec;
  };
  const std::vector<OptionSpec> specs = {
      {.name = "title", .help = "What the device is.", .required = true},
      {.name = "source", .help = "Where the figures are from.", .required = true},
      speed("operations_per_second", "The peak, of all threads."),
      number("half_batch", "Examples at which it reaches half of the peak."),
      speed("bytes_per_second", "Of its memory, by all threads."),
      number("launch_seconds", "To start a kernel."),
      number("link_bytes_per_second", "To and from the host's memory; 0: it is the host."),
      {.name = "threads",
       .type = OptionType::kInt,
       .fallback = 1,
       .help = "Of a CPU.",
       .minimum = 1,
       .maximum = 4096},
      number("thread_bytes_per_second", "Of one thread alone; 0: as all."),
      number("team_loss", "What a thread loses for each further one of its team; of a CPU."),
      {.name = "growth",
       .type = OptionType::kTable,
       .help = "In place of team_loss: how many times as fast as one thread teams of so many are."},
      number("near_bytes", "Size of the near memory; 0: all is near."),
      {.name = "memory_nodes",
       .type = OptionType::kInt,
       .fallback = 1,
       .help = "Between which the threads are divided.",
       .minimum = 1,
       .maximum = 4096},
      number("far_bytes_per_second", "Of the memory beyond the near one, and of other nodes'.")};
  const Options options(section, table, specs);
  const bool several = options.Int("memory_nodes") > 1;
  Require(
      (several || options.Float("near_bytes") > 0) == (options.Float("far_bytes_per_second") > 0),
      "{}: near_bytes, or several memory_nodes, and far_bytes_per_second need each other",
      options.Where("near_bytes"));
  Require(options.Int("threads") % options.Int("memory_nodes") == 0,
          "{}: {} threads cannot be divided evenly between {} nodes", options.Where("memory_nodes"),
          options.Int("threads"), options.Int("memory_nodes"));
  Require(!options.Has("growth") || options.Float("team_loss") == 0,
          "{}: the curve has a team_loss too: leave one of them out", options.Where("growth"));
  return {.title = options.String("title"),
          .operations_per_second = options.Float("operations_per_second"),
          .half_batch = options.Float("half_batch"),
          .bytes_per_second = options.Float("bytes_per_second"),
          .launch_seconds = options.Float("launch_seconds"),
          .link_bytes_per_second = options.Float("link_bytes_per_second"),
          .threads = static_cast<int>(options.Int("threads")),
          .thread_bytes_per_second = options.Float("thread_bytes_per_second"),
          .team_loss = options.Float("team_loss"),
          .growth = options.Has("growth") ? GrowthIn(options) : std::map<int, double>(),
          .near_bytes = options.Float("near_bytes"),
          .memory_nodes = static_cast<int>(options.Int("memory_nodes")),
          .far_bytes_per_second = options.Float("far_bytes_per_second")};
}

}  // namespace yoke
