// A world over a wire: messages with context and tag, waits of several threads, and a common end of
// all ranks, whether successful or not.
#pragma once

#include <functional>

#include "base/check.h"
#include "comm/communicator.h"
#include "comm/wire.h"

namespace yoke {

struct WireRanks {
  int ranks = 1;
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::kAuto;
  double farewell = 2;  ///< Seconds for the others to answer after one has failed.
  /// If a process is lost and the wire can continue, so do the other ranks: waits end with
  /// RankLost, and a body that lets it propagate is called again with the world of the survivors.
  /// Otherwise a loss is a failure like others.
  bool survive = false;
};

/// Why a world failed: the same on all ranks, to be reported once.
class WorldError : public Error {
 public:
  /// `tell`: this rank reports it, even if it does not print for all.
  explicit WorldError(const std::string& sentence, int exit_status = 1, bool tell = false)
      : Error(sentence, exit_status), tell_(tell) {}
  bool tell() const { return tell_; }

 private:
  bool tell_;
};

/// Runs body(world) on the first `ranks` processes of the wire. All processes call it, and it
/// returns when all have ended. If a body throws, the other ranks' waits end, and all ranks throw
/// WorldError with the sentence and exit status of the lowest rank that failed on its own. If a
/// rank does not answer, the lowest rank that does prints the sentence on standard error and ends
/// the job. Once a body has ended normally, a loss ends the others too.
void RunOverWire(Wire& wire, const WireRanks& options,
                 const std::function<void(const Communicator&)>& body);

}  // namespace yoke
