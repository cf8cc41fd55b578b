// TrafficMirror: the counters of a background thread, for other threads to read at any time.
#pragma once

#include <array>
#include <atomic>

#include "comm/communicator.h"

namespace yoke {

class TrafficMirror {
 public:
  void Show(const Traffic& now) {
    numbers_[0] = now.messages_sent, numbers_[1] = now.bytes_sent;
    numbers_[2] = now.messages_received, numbers_[3] = now.bytes_received;
    numbers_[4] = now.bytes_by_formula;
  }
  Traffic Read() const {
    return {.messages_sent = numbers_[0],
            .bytes_sent = numbers_[1],
            .messages_received = numbers_[2],
            .bytes_received = numbers_[3],
            .bytes_by_formula = numbers_[4]};
  }

 private:
  std::array<std::atomic<int64_t>, 5> numbers_ = {};
};

}  // namespace yoke
