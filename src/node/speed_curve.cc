// SpeedCurve: the formula, and its file.
#include "node/speed_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/options.h"

namespace yoke {

double SpeedCurve::Seconds(const Cost& cost, const WorkPlace& place) const {
  const bool one_thread = place.threads > 0;
  const double all = threads;
  double peak = operations_per_second, bandwidth = Bandwidth(cost);
  double at_once = static_cast<double>(std::max<int64_t>(1, place.examples));
  if (one_thread) {
    const double gain = 1 + team_loss * (all - 1);
    peak *= gain / all;
    bandwidth *= gain / place.threads;
    if (thread_bytes_per_second > 0) bandwidth = std::min(bandwidth, thread_bytes_per_second);
  } else {
    at_once = std::max(1.0, at_once / all);
  }
  double seconds = cost.kernels * launch_seconds +
                   cost.operations / (peak * UtilizationAt(at_once)) + cost.bytes / bandwidth;
  if (link_bytes_per_second > 0) seconds += cost.device_bytes / link_bytes_per_second;
  return seconds;
}

/// Of memory that is in part beyond the near one.
double SpeedCurve::Bandwidth(const Cost& cost) const {
  if (near_bytes == 0 || cost.memory <= near_bytes) return bytes_per_second;
  const double near = near_bytes / cost.memory;
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
      number("near_bytes", "Size of the near memory; 0: all is near."),
      number("far_bytes_per_second", "Of the memory beyond the near one.")};
  const Options options(section, table, specs);
  Require((options.Float("near_bytes") > 0) == (options.Float("far_bytes_per_second") > 0),
          "{}: near_bytes and far_bytes_per_second need each other", options.Where("near_bytes"));
  return {.title = options.String("title"),
          .operations_per_second = options.Float("operations_per_second"),
          .half_batch = options.Float("half_batch"),
          .bytes_per_second = options.Float("bytes_per_second"),
          .launch_seconds = options.Float("launch_seconds"),
          .link_bytes_per_second = options.Float("link_bytes_per_second"),
          .threads = static_cast<int>(options.Int("threads")),
          .thread_bytes_per_second = options.Float("thread_bytes_per_second"),
          .team_loss = options.Float("team_loss"),
          .near_bytes = options.Float("near_bytes"),
          .far_bytes_per_second = options.Float("far_bytes_per_second")};
}

}  // namespace yoke
