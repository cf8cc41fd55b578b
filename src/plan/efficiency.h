// Statistical efficiency of a job: what stale gradients and rare exchanges cost in examples,
// assumed at first, then measured by trials, and kept for the next job of its kind.
#pragma once

#include <string>
#include <vector>

#include "train/job/job.h"

namespace yoke {

/// How a candidate uses examples.
struct ExampleUse {
  double batch = 0;      ///< Examples of the gradients that one update averages.
  double staleness = 0;  ///< Updates between the values of a gradient and its own update.
  double interval = 1;   ///< Steps of a replica between two exchanges.
  double mixing = 1;     ///< StrategyEntry::mixing of each.

  /// Doublings of the interval, of exchanges that mix all.
  double Doublings() const;
  /// Whether gradients are hardly late and exchanges mix all in each step.
  bool IsSynchronous() const;
};

/// What is assumed is fitted to the tables of docs/how-to-scale.md and docs/plan.md, coarsely.
struct Efficiency {
  double staleness = 0.04;  ///< More examples for each update that a gradient is late.
  double interval = 0.08;   ///< The same for each doubling of the interval.
  int stale_trials = 0;     ///< That have measured the first; 0: it is assumed.
  int interval_trials = 0;  ///< And the second.

  /// Examples that such a use needs, divided by those of synchronous updates:
  /// (1 + staleness x updates late) (1 + interval x doublings).
  double Examples(const ExampleUse& use) const;
  bool operator==(const Efficiency&) const = default;
};

/// A candidate's trial.
struct MeasuredUse {
  ExampleUse use = {};
  double examples = 1;  ///< To a loss that both reached, divided by those of synchronous updates.
};

/// The costs with which Examples() is nearest to what was measured, by least squares. `before`
/// counts as much as two trials, and one for each that measured it, up to ten. None is below 0 or
/// above 1. Trials whose numbers are not finite do not count.
Efficiency Fitted(const Efficiency& before, const std::vector<MeasuredUse>& trials);

/// "an update's staleness costs 2.1 % more examples (on this kind of job, from 3 trials), ...
/// (assumed)"
std::string TextOf(const Efficiency& efficiency);

/// Where those of jobs of this kind are kept: of the same model and data format. In
/// $YOKE_CACHE, or else $XDG_CACHE_HOME/yoke, or ~/.cache/yoke; "": there is no such folder.
std::string EfficiencyPath(const Job& job);
/// What the file has; without one, or with one that cannot be read or has impossible numbers, what
/// is assumed.
Efficiency ReadEfficiency(const std::string& path);
/// Makes the folder. Does nothing where it cannot be written, or with impossible numbers.
void WriteEfficiency(const Efficiency& efficiency, const std::string& path);

}  // namespace yoke
