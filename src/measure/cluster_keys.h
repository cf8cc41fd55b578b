// ClusterKeys: the kinds of keys of a cluster file.
#pragma once

#include "base/options.h"
#include "comm/simulated.h"

namespace yoke::cluster_keys {

inline constexpr double kMost = 1e30;

/// Keys of a cluster file: a text, a number of at least `minimum`.
inline OptionSpec Text(const char* name, const char* help) { return {.name = name, .help = help}; }
inline OptionSpec Whole(const char* name, int fallback, int minimum, const char* help) {
  return {.name = name,
          .type = OptionType::kInt,
          .fallback = fallback,
          .help = help,
          .minimum = static_cast<double>(minimum),
          .maximum = kMostRanks};
}
/// A number above 0, which may be absent; likewise the next one.
inline OptionSpec Positive(const char* name, const char* help) {
  return {.name = name,
          .type = OptionType::kFloat,
          .help = help,
          .minimum = 0,
          .maximum = kMost,
          .exclusive_minimum = true};
}
inline OptionSpec Rate(const char* name, const char* help) {
  OptionSpec rate = Positive(name, help);
  rate.minimum = 1;
  rate.exclusive_minimum = false;
  return rate;
}
/// A number of at least 0.
inline OptionSpec Number(const char* name, const char* help) {
  return {.name = name, .type = OptionType::kFloat, .help = help, .minimum = 0, .maximum = kMost};
}
inline OptionSpec Sub(const char* name, const char* help) {
  return {.name = name, .type = OptionType::kTable, .help = help};
}
inline OptionSpec Needed(OptionSpec spec) {
  spec.required = true;
  return spec;
}

}  // namespace yoke::cluster_keys
