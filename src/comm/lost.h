// RankLost: what ends the waits of a rank once a process of its world is gone and the others can go
// on without it.
#pragma once

#include "base/check.h"

namespace yoke {

class RankLost : public Error {
 public:
  using Error::Error;
};

}  // namespace yoke
