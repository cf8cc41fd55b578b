// Contention: what replicas take from each other on the cores of a machine: by turns, and by waits
// that poll.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/communicator.h"

namespace yoke {

/// A rank sends a message of so many bytes to the next one, again and again after a pause.
struct MessageStream {
  int64_t bytes = 0;
  double pause = 0;  ///< In seconds: no shorter than the message takes, so that none pile up.
};

/// The part of a core that a rank's waiting thread takes from the computing one, because it polls,
/// and copies what arrives. `steps` measures the seconds of a training step, while another thread
/// waits for messages; `alone` is a step without them. 0 where a core is free. All ranks call it,
/// at least two.
double MeasurePolling(const Communicator& world, const MessageStream& stream, double alone,
                      const std::function<double()>& steps);

/// How many times as long the steps of a machine's replicas take where all share its cores and meet
/// after each step, as they would if turns and meetings cost nothing: at least 1. `steps` measures
/// the mean seconds of a number of steps, the same on all ranks, and calls its argument after each.
/// It runs twice on the first `at_once` ranks: alone, and beside all. All ranks of the machine call
/// this.
double MeasureCrowding(const Communicator& machine, int at_once,
                       const std::function<double(const std::function<void()>&)>& steps);

}  // namespace yoke
