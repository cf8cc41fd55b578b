// Deaths of a simulated cluster's nodes at stated times.
#pragma once

#include <limits>
#include <map>

#include "comm/simulated.h"

namespace yoke::test {

/// Each node dies at its time, once.
inline SimulatedFailures DeathsAt(const std::map<int, double>& deaths, double detection,
                                  double restart) {
  return {.death =
              [deaths](int node, int life, double) {
                const auto own = deaths.find(node);
                return life > 0 || own == deaths.end() ? std::numeric_limits<double>::infinity()
                                                       : own->second;
              },
          .detection = detection,
          .restart = restart};
}

}  // namespace yoke::test
