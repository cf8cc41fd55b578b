// A world over a wire: messages with context and tag, waits of several threads, and an end that all
// ranks come to together, well or not.
#pragma once

#include <functional>

#include "base/check.h"
#include "comm/communicator.h"
#include "comm/wire.h"

namespace yoke {

struct WireRanks {
  int ranks = 1;
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceWay all_reduce = AllReduceWay::kAuto;
  double farewell = 2;  ///< Seconds that the others have to answer once one has failed.
  /// Where a process is lost and the wire can go on, the others do: waits end with RankLost, and a
  /// body that lets it through is called again, with the world of those that are left. Else that is
  /// a failure like others.
  bool survive = false;
};

/// Why a world failed, the same on all its ranks: to be told once.
class WorldError : public Error {
 public:
  /// `tell`: by this rank, though it may not be the one that speaks for all.
  explicit WorldError(const std::string& sentence, int exit_status = 1, bool tell = false)
      : Error(sentence, exit_status), tell_(tell) {}
  bool tell() const { return tell_; }

 private:
  bool tell_;
};

/// Runs body(world) on the first `ranks` of the wire's processes; all of them call it, and return
/// when all have ended. When a body throws, the others' waits end, and WorldError is thrown on all
/// ranks with the sentence and exit status of the lowest rank that failed by itself. Where somebody
/// does not answer, the lowest rank that does prints the sentence on standard error and ends the
/// job. Once a body has ended well, a loss ends the others' too.
void RunOverWire(Wire& wire, const WireRanks& options,
                 const std::function<void(const Communicator&)>& body);

}  // namespace yoke
