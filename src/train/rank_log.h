// RankLog: what a rank other than 0 meets, in log-<rank>.txt of the run (rank 0's log.txt is the
// record's).
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/log.h"
#include "comm/communicator.h"
#include "train/rounds.h"

namespace yoke {

/// What a rank did until all met.
struct RankRound {
  int64_t epoch = 0;   ///< Under way; 1 for the first.
  int64_t step = 0;    ///< Of the run, now.
  Tally tally = {};    ///< What this rank brought to the meeting.
  double seconds = 0;  ///< That the round lasted.
  double waited = 0;   ///< Seconds that its strategy has waited for messages since it began.
};

class RankLog {
 public:
  /// Where this rank does not see the run's folder nothing is logged, and nothing fails.
  RankLog(const Communicator& world, const std::string& run, int threads);

  void Round(const RankRound& round);
  void End(int exit_status);
  void End(const std::exception& problem);

 private:
  LogFile file_;
  double waited_ = 0;
};

}  // namespace yoke
