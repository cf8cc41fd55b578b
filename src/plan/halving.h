// Halving: trials in rounds, after each of which the better half goes on.
#pragma once

#include <string>
#include <vector>

#include "plan/trials.h"

namespace yoke {

/// One that takes part.
struct Entrant {
  Job job;
  std::string name;
  bool stays = false;  ///< In all rounds.

  std::string run = {};   ///< Of its trials so far.
  double first_loss = 0;  ///< Before it had learned: the first that it told.
  Trial last = {};
  std::vector<LossPoint> curve = {};  ///< Of all its trials, with their warm-up.
  double trained = 0;                 ///< Seconds in all.
  std::string dropped = {};
};

/// Runs the rounds. At the end at most one entrant has not been dropped, besides those that stay.
/// Those that fail are dropped, even if they were to stay.
void Halve(const Trials& trials, std::vector<Entrant>& entrants);

}  // namespace yoke
