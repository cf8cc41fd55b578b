// Waits without a timeout: for a rank's own threads, and for peers that may be silent for long.
#pragma once

#include "comm/communicator.h"

namespace yoke::strategy {

/// Receives the next message without a timeout. Throws Error if a rank has failed.
inline Message ReceiveWithoutTimeout(const Communicator& channel, int from, int tag) {
  constexpr double kHour = 3600;
  Message message;
  while (!channel.TryReceive(from, tag, message, kHour)) continue;
  return message;
}

}  // namespace yoke::strategy
