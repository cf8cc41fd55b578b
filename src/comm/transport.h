// Transport: carries messages between the ranks of a world, and provides time and threads. There is
// one for each kind of world (threads, simulated, mpi); Communicator is built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/collective_schedules.h"
#include "tensor/array.h"

namespace yoke {

inline constexpr int kAnySource = -1;

/// Identifies messages. Those with the same context, source and tag arrive in the order sent;
/// different contexts are separate.
struct MessageKey {
  uint64_t context = 0;
  int source = kAnySource;  ///< World rank.
  int tag = 0;
};

/// A message that has arrived.
struct Message {
  int source = 0;  ///< World rank.
  std::vector<std::byte> bytes = {};
  int64_t billed = -1;  ///< As in VirtualTransport::SendFor; -1: as many as there are.

  int64_t Billed() const { return billed < 0 ? static_cast<int64_t>(bytes.size()) : billed; }
};

/// Ends the waits of a rank after a process of its world is lost and the others can continue
/// without it.
class RankLost : public Error {
 public:
  using Error::Error;
};

/// Unwinds the tasks of a simulated rank that is dead. No error, so that nobody handles or reports
/// it; what catches everything must throw it again.
struct RankDied {};

/// A sum over some ranks by the world's own all-reduce.
class NativeAllReduce {
 public:
  virtual ~NativeAllReduce() = default;
  /// Adds the other ranks' values to `values`; all of these ranks call it. Throws like
  /// Transport::Receive.
  virtual void Sum(std::span<float> values) = 0;
};

/// A sum over some ranks on their devices, by a library that adds there (NCCL).
class DeviceAllReduce {
 public:
  virtual ~DeviceAllReduce() = default;
  /// Enqueues on `stream`, of the values' device, that the other ranks' values are added to these,
  /// and does not wait. All of these ranks call it in the same order. The sums are bit-identical on
  /// all ranks. What fails later is thrown by the stream's next wait.
  virtual void Enqueue(Array<float> values, Stream& stream) = 0;
  /// Sums that were enqueued in a capture have been launched on `stream`.
  virtual void Launched(Stream& stream) = 0;
};

class Communicator;
class VirtualTransport;  // comm/virtual_time.h

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;        ///< Rank in the world.
  virtual int size() const = 0;        ///< Size of the world.
  virtual double timeout() const = 0;  ///< Maximum seconds of one wait.
  /// The default all-reduce algorithm.
  virtual AllReduceAlgorithm all_reduce() const { return AllReduceAlgorithm::kAuto; }

  /// Copies the bytes; they may be overwritten on return.
  virtual void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) = 0;
  /// Waits at most timeout() for a message. Throws Error if none arrives, naming `operation`, and
  /// if another rank has failed.
  virtual Message Receive(const MessageKey& key, const char* operation) = 0;
  /// Waits at most `seconds` (0: does not wait); false if no message has arrived. Throws Error if
  /// another rank has failed.
  virtual bool TryReceive(const MessageKey& key, double seconds, Message& message) = 0;

  /// Null if the world has no all-reduce of its own. All of these ranks call it, once per context,
  /// after a barrier.
  virtual std::unique_ptr<NativeAllReduce> MakeNativeAllReduce(uint64_t /*context*/,
                                                               std::span<const int> /*ranks*/) {
    return nullptr;
  }

  /// Null where arrays are summed in the host's memory. All ranks of `world` call it, once per
  /// context, each with the device of its arrays; they may exchange messages, which are not
  /// counted, and agree: all get one, or none does, also
  /// for arrays on another device later.
  virtual std::unique_ptr<DeviceAllReduce> MakeDeviceAllReduce(const Communicator& /*world*/,
                                                               Device& /*device*/) {
    return nullptr;
  }

  /// Null where time is real.
  virtual VirtualTransport* virtual_side() { return nullptr; }
  virtual double Now() = 0;
  virtual void Sleep(double seconds) = 0;
  /// Runs `body` concurrently with a transport of the same rank. Destroying the handle waits for
  /// its end.
  using Body = std::function<void(const std::shared_ptr<Transport>&)>;
  virtual std::shared_ptr<void> Spawn(Body body) = 0;
};

}  // namespace yoke
