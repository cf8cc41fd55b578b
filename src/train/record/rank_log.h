// RankLog: the log of a rank other than 0, in log-<rank>.txt of the run (the record writes rank 0's
// log.txt).
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/log.h"
#include "comm/communicator.h"
#include "train/step_totals.h"

namespace yoke {

/// What a rank did in one round.
struct RankRound {
  int64_t epoch = 0;       ///< The current epoch; 1 for the first.
  int64_t step = 0;        ///< The current step of the run.
  StepTotals totals = {};  ///< This rank's sums of the round.
  double seconds = 0;      ///< Duration of the round.
  double waited = 0;       ///< Seconds that its strategy has waited for messages since its start.
};

class RankLog {
 public:
  /// If this rank cannot access the run's folder, it logs nothing and does not fail.
  RankLog(const Communicator& world, const std::string& run, int threads);

  void Round(const RankRound& round);
  void End(int exit_status);
  void End(const std::exception& problem);

 private:
  LogFile file_;
  double waited_ = 0;
};

}  // namespace yoke
