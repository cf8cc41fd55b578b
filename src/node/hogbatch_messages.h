// The messages between Hogbatch's coordinator and its workers (Ma and Rusu 2020: ScheduleWork and
// ExecuteWork).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace yoke {

/// A worker's report on work that is done, and its request for more.
struct ScheduleWork {
  enum Kind : int64_t {
    kDone,      ///< With a report; it may have more work in hand.
    kReady,     ///< Takes one more piece beside the one it computes.
    kMeasured,  ///< Its least batch; the examples are not done.
    kFailed,    ///< Its examples are not done.
  };
  int64_t worker = 0;
  int64_t kind = kDone;
  int64_t examples = 0, updates = 0;
  double loss = 0;  ///< Sum over the examples.
  double seconds = 0;
  int64_t missed = 0, most_missed = 0;  ///< As in DeviceUsage.
  int64_t least = 0;                    ///< Of kMeasured.
};

/// The coordinator's answer, followed by the examples.
struct ExecuteWork {
  enum Kind : int64_t { kTrain, kMeasure, kNothing, kEnd };
  int64_t kind = kTrain;
  int64_t batch = 0;        ///< Examples of an update.
  int64_t cpu_threads = 0;  ///< At work now.
  double learning_rate = 0;
  int64_t rate_examples = 0;  ///< For which it is meant.
};

inline std::vector<std::byte> Encode(const ExecuteWork& work, std::span<const int64_t> examples) {
  std::vector<std::byte> bytes(sizeof work + examples.size_bytes());
  std::memcpy(bytes.data(), &work, sizeof work);
  if (!examples.empty())
    std::memcpy(bytes.data() + sizeof work, examples.data(), examples.size_bytes());
  return bytes;
}

inline ExecuteWork Decode(const Message& message, std::vector<int64_t>& examples) {
  ExecuteWork work;
  std::memcpy(&work, message.bytes.data(), sizeof work);
  examples.resize((message.bytes.size() - sizeof work) / sizeof(int64_t));
  if (!examples.empty())
    std::memcpy(examples.data(), message.bytes.data() + sizeof work,
                examples.size() * sizeof(int64_t));
  return work;
}

}  // namespace yoke
