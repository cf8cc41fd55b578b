// Small helpers that several schedules share.
#pragma once

#include <algorithm>

#include "optim/schedule.h"

namespace yoke {

/// Fraction of the schedule that is over, in [0, 1].
inline double Done(const Progress& progress) {
  return progress.epochs > 0 ? std::clamp(progress.epoch / progress.epochs, 0.0, 1.0) : 1.0;
}

inline OptionSpec EndOption() {
  return {.name = "end",
          .type = OptionType::kFloat,
          .fallback = 0.0,
          .help = "Fraction of the learning rate that is left at the end.",
          .minimum = 0,
          .maximum = 1};
}

inline OptionSpec FactorOption() {
  return {.name = "factor",
          .type = OptionType::kFloat,
          .fallback = 0.1,
          .help = "Factor on the rate at each drop.",
          .minimum = 0,
          .exclusive_minimum = true};
}

}  // namespace yoke
