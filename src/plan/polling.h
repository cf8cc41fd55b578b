// MeasurePolling: what waiting for messages takes from a core that computes.
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

}  // namespace yoke
