// Findings: what was found for the open keys of a job: parts by a search, rate and momentum by
// trials.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/tuning.h"

namespace yoke {

struct Findings {
  std::optional<Plan> plan = {};  ///< Of the last search.
  std::vector<TriedSetting> tried = {};
  double trained = 0;           ///< Seconds of all trials.
  double update_seconds = 0;    ///< Of what was chosen first; 0: not known.
  double given_rate = 0;        ///< The learning rate before any trial.
  int most_groups = 1;          ///< That Omnivore's optimizer found worth trying.
  bool tunes_momentum = false;  ///< Momentum was open, too,
  bool chose_schedule = false;  ///< and so was the schedule: CosineSchedule.

  /// The text of plan.toml: the candidates, if parts were searched, the keys that the decided job
  /// has by them, and the settings tried. "": nothing was searched or tried.
  std::string Text(const Job& decided) const;
};

/// The schedule of a job whose rate was found.
Override CosineSchedule();

}  // namespace yoke
