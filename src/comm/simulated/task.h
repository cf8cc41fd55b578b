// Task: a rank of a simulation, or a thread that it spawned, with its own clock; and the cores that
// tasks share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "comm/simulated.h"
#include "comm/transport.h"

namespace yoke {

struct Task {
  static constexpr double kTurn = SimulatedRanks::kTurn;

  Task(FiberStacks& stacks, std::function<void()> body) : fiber(stacks, std::move(body)) {}

  int rank = 0;
  double now = 0;
  double wake = 0;     // when it runs next
  uint64_t order = 0;  // of starting: of equal times the first started runs first
  size_t place = 0;    // in the agenda
  bool ended = false;
  bool ahead = false;                 // the others have not reached `now`
  bool main = false;                  // the rank itself, not a thread that it spawned
  double turn = kTurn;                // seconds of its turn on a core that are left
  const MessageKey* wants = nullptr;  // while it waits for a message
  Task* awaited_by = nullptr;         // while another waits for its end
  int kernel_threads = 0;             // 0: those of a new thread
  Fiber fiber;
};

/// Processors that tasks share.
struct Cores {
  std::vector<double> free = {};  ///< When each is free; empty: as many as are asked for.
  int working = 0;                ///< Tasks that compute or want to.
  int waiting = 0;                ///< Ranks that wait for a message.

  /// What the time of a computation is multiplied by where each waiting rank takes the fraction
  /// `polling` of a core.
  double Slowdown(double polling) const {
    if (polling == 0) return 1;
    const auto all = static_cast<double>(free.size());
    const double left = all - polling * waiting;
    return std::max(1.0, std::min(static_cast<double>(working), all) / std::max(left, all / 10));
  }

  /// Books `seconds` on the core that is free first; returns their end. What is `first`, because
  /// its turn is not over or it has waited, does not wait for the turns of others, as an operating
  /// system lets a thread that wakes up run at once: they come later by as much.
  double Book(double now, double seconds, bool first) {
    double& core = *std::ranges::min_element(free);
    const double queue = first ? Turns() * SimulatedRanks::kTurn : 0;
    const double begin = std::max(now, core - queue);
    core = std::max(now, core) + seconds;
    return begin + seconds;
  }

 private:
  /// Of each core, if all that want to compute have one. More are not overtaken, so that what
  /// rests and works by turns gets no more cores than there are.
  double Turns() const { return std::ceil(double(working) / static_cast<double>(free.size())); }
};

}  // namespace yoke
