// RankLost: ends the waits of a rank after a process of its world is lost and the others can
// continue without it. RankDied: ends a lost rank itself, where it is simulated.
#pragma once

#include "base/check.h"

namespace yoke {

class RankLost : public Error {
 public:
  using Error::Error;
};

/// Unwinds the tasks of a simulated rank that is dead. No error, so that nobody handles or reports
/// it; what catches everything must throw it again.
struct RankDied {};

}  // namespace yoke
