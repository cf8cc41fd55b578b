// Counting: what a device makes the host wait and pay for, by cause.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tensor/device.h"

namespace yoke {

/// Calls that hold up a GPU or its host.
struct DeviceCounts {
  int64_t waits = 0;            ///< For a stream or an event.
  int64_t allocations = 0;      ///< Of the device's memory.
  int64_t frees = 0;            ///< Of it.
  int64_t events = 0;           ///< That are made.
  int64_t host_reads = 0;       ///< Copies to the host.
  int64_t pageable_copies = 0;  ///< To or from host memory that is not of Device::staging().
  int64_t bytes_sent = 0;       ///< Copied to it from the host.

  bool operator==(const DeviceCounts&) const = default;
};

/// Names the cause of what this thread does while it lives. The innermost name counts; without one
/// it is the name of the counted call. A counting device alone reads it.
class CountedAs {
 public:
  explicit CountedAs(const char* cause) : outer_(std::exchange(current, cause)) {}
  ~CountedAs() { current = outer_; }
  CountedAs(const CountedAs&) = delete;
  CountedAs& operator=(const CountedAs&) = delete;
  static const char* Current() { return current; }  ///< Null: no name.

 private:
  static inline constinit thread_local const char* current = nullptr;
  const char* outer_;
};

/// Another device under a name of its own, which counts the calls of all threads.
class CountingDevice : public Device {
 public:
  using Counts = std::map<std::string, DeviceCounts>;  ///< By cause.

  CountingDevice(std::string name, std::unique_ptr<Device> inner);
  ~CountingDevice() override;
  /// Since it was made.
  Counts counts() const;

  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override;
  void Free(void* memory, int64_t bytes) override;
  std::unique_ptr<Stream> NewStream() override;
  Device& staging() override { return *staging_; }

 private:
  class Ledger;
  class Staging;
  class CountedEvent;
  class CountedStream;

  std::string name_;
  std::unique_ptr<Device> inner_;
  std::shared_ptr<Ledger> ledger_;  // also of its streams and events
  std::unique_ptr<Device> staging_;
};

}  // namespace yoke
