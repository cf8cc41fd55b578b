// Task: a rank of a simulation, or a thread that it spawned, with its own clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

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

}  // namespace yoke
