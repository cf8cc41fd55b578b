// TrafficMirror: the counters of a background thread, for other threads to read at any time.
#pragma once

#include <array>
#include <atomic>

#include "comm/communicator.h"

namespace yoke {

class TrafficMirror {
 public:
  void Show(const Traffic& now) {
    counters_[0] = now.messages_sent, counters_[1] = now.bytes_sent;
    counters_[2] = now.messages_received, counters_[3] = now.bytes_received;
    counters_[4] = now.bytes_by_formula;
  }
  Traffic Read() const {
    return {.messages_sent = counters_[0],
            .bytes_sent = counters_[1],
            .messages_received = counters_[2],
            .bytes_received = counters_[3],
            .bytes_by_formula = counters_[4]};
  }

 private:
  std::array<std::atomic<int64_t>, 5> counters_ = {};
};

}  // namespace yoke
