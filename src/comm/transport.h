// Transport: carries messages between the ranks of a world, and gives them time and threads. One
// for each kind of world (threads, simulated, mpi); Communicator stands on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/cost.h"

namespace yoke {

inline constexpr int kAnySource = -1;

/// How an all-reduce runs. P ranks, n bytes, latency a, seconds a byte b.
enum class AllReduceWay {
  kAuto,     ///< By size and P (ChooseAllReduce).
  kRing,     ///< 2 (P - 1) messages of n / P bytes each: 2 (P - 1) a + 2 n b (P - 1) / P.
  kTree,     ///< A reduce and a broadcast: 2 log2 P (a + n b).
  kHalving,  ///< Recursive halving, then doubling: 2 log2 P a + 2 n b (P - 1) / P.
  kMpi,      ///< MPI's own, where the world has one.
};

/// Which message is meant. Messages of one context, source and tag arrive in the order in which
/// they were sent; those of different contexts never meet.
struct MessageKey {
  uint64_t context = 0;
  int source = kAnySource;  ///< World rank.
  int tag = 0;
};

/// A message that has arrived.
struct Message {
  int source = 0;  ///< World rank.
  std::vector<std::byte> bytes = {};
};

/// Some ranks of a world that add numbers up by the world's own means.
class Adder {
 public:
  virtual ~Adder() = default;
  /// values += those of the others; all of them call it. Throws as Transport::Receive does.
  virtual void Sum(std::span<float> values) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;        ///< In the world.
  virtual int size() const = 0;        ///< Of the world.
  virtual double timeout() const = 0;  ///< Seconds that one wait may last.
  /// The way of all-reduces that name none.
  virtual AllReduceWay all_reduce() const { return AllReduceWay::kAuto; }

  /// Takes the bytes; they may be overwritten on return.
  virtual void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) = 0;
  /// Waits at most timeout() for a message; `operation` is named when none comes. Throws Error then
  /// and when another rank has failed.
  virtual Message Receive(const MessageKey& key, const char* operation) = 0;
  /// Waits at most `seconds` (0: not at all): false when none has come. Throws Error when another
  /// rank has failed.
  virtual bool TryReceive(const MessageKey& key, double seconds, Message& message) = 0;

  /// Null where the world has no means of its own. All of these ranks call it, for a context once,
  /// after they have met.
  virtual std::unique_ptr<Adder> MakeAdder(uint64_t /*context*/, std::span<const int> /*ranks*/) {
    return nullptr;
  }

  virtual double Now() = 0;
  virtual void Sleep(double seconds) = 0;
  /// Work of this rank that a simulation prices; elsewhere its time passes by itself.
  virtual void Charge(const Cost& /*cost*/) {}
  /// Runs `body` with a transport of this rank beside the caller; the handle's destruction waits
  /// for its end.
  using Body = std::function<void(const std::shared_ptr<Transport>&)>;
  virtual std::shared_ptr<void> Spawn(Body body) = 0;
};

}  // namespace yoke
