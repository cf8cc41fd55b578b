// RankLost: ends the waits of a rank after a process of its world is lost and the others can
// continue without it.
#pragma once

#include "base/check.h"

namespace yoke {

class RankLost : public Error {
 public:
  using Error::Error;
};

}  // namespace yoke
