// Plan: what was chosen, and the table of why.
#pragma once

#include <string>
#include <vector>

#include "plan/candidates.h"

namespace yoke {

struct Plan {
  std::vector<Candidate> candidates;  ///< The chosen one first, what does not fit last.
  int chosen = 0;
  Overrides keys = {};                  ///< What the chosen one sets in the job.
  std::string machine = {};             ///< "2 replicas of 1 thread"
  double noise_scale = 0;               ///< Of the gradient, in examples; 0: unknown.
  Efficiency efficiency = {};           ///< Of the job, as far as it was measured.
  double seconds = 0;                   ///< That planning took.
  std::vector<std::string> notes = {};  ///< Sentences: why, and what would answer better.
  std::string progress = {};            ///< The run of the chosen one's trials; "": none.

  const Candidate& best() const { return candidates[chosen]; }
};

/// Rows of cells with a heading: candidate, predicted and measured seconds an update, predicted
/// updates and seconds, loss of the trial, why it was dropped. The `most` best ones.
std::vector<std::vector<std::string>> TableOf(const Plan& plan, size_t most);

/// The text of plan.toml: what was chosen, [use] with the keys, and a line for each candidate that
/// was compared. `command` wrote it.
std::string FormatPlan(const Plan& plan, const std::string& command);

/// [use] of such a text: tables of the keys by section.
Value UseTable(const Overrides& keys);

/// The keys in [use] of such a text, to set in a job. Throws UserError with file and line.
Overrides KeysOfPlan(const Value& root, const std::string& path);
/// The same from the file at `path`.
Overrides ReadPlanKeys(const std::string& path);

}  // namespace yoke
