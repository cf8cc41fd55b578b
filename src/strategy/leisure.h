// Waits without end: for a rank's own threads, and for peers that may have nothing to say for long.
#pragma once

#include "comm/communicator.h"

namespace yoke::strategy {

/// The next message, however long it takes; throws Error when a rank has failed.
inline Message ReceiveAtLeisure(const Communicator& channel, int from, int tag) {
  constexpr double kHour = 3600;
  Message message;
  while (!channel.TryReceive(from, tag, message, kHour)) continue;
  return message;
}

}  // namespace yoke::strategy
