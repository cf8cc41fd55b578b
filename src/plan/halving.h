// Halving: trials in rounds, after each of which the better half goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/trials.h"

namespace yoke {

/// One that takes part.
struct Entrant {
  Job job;
  std::string name;
  bool stays = false;  ///< In all rounds.

  std::string run = {};  ///< Of its trials so far.
  Trial last = {};
  double trained = 0;  ///< Seconds in all.
  std::string dropped = {};
};

struct HalvingRequest {
  const DataSets& data;
  const RunRequest& run;
  std::string from = {};    ///< As in TrialRequest.
  std::string folder = {};  ///< For the entrants' runs.
  double seconds = 0;       ///< Of all trials together, at least one of each.
  std::function<void(const std::string&)> tell;
};

/// Runs the rounds. At the end at most one entrant has not been dropped, besides those that stay.
/// Those that fail are dropped, even if they were to stay.
void Halve(const HalvingRequest& request, std::vector<Entrant>& entrants);

}  // namespace yoke
