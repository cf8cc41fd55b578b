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

#include "base/cost.h"
#include "comm/members.h"

namespace yoke {

inline constexpr int kAnySource = -1;

/// The algorithm of an all-reduce, for P ranks, n bytes, latency a and b seconds per byte.
enum class AllReduceAlgorithm {
  kAuto,     ///< By size and P (ChooseAllReduce).
  kRing,     ///< 2 (P - 1) messages of n / P bytes each: 2 (P - 1) a + 2 n b (P - 1) / P.
  kTree,     ///< A reduce and a broadcast: 2 log2 P (a + n b).
  kHalving,  ///< Recursive halving, then doubling: 2 log2 P a + 2 n b (P - 1) / P.
  kMpi,      ///< MPI's own, if the world has one.
};

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
  int64_t billed = -1;  ///< As in Transport::SendFor; -1: as many as there are.

  int64_t Billed() const { return billed < 0 ? static_cast<int64_t>(bytes.size()) : billed; }
};

/// A sum over some ranks by the world's own all-reduce.
class NativeAllReduce {
 public:
  virtual ~NativeAllReduce() = default;
  /// Adds the other ranks' values to `values`; all of these ranks call it. Throws like
  /// Transport::Receive.
  virtual void Sum(std::span<float> values) = 0;
};

struct CollectiveCall;
struct CollectiveTraffic;

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
  /// The same for bytes that stand for `billed` ones in a simulation of times
  /// (Communicator::BilledBy).
  virtual void SendFor(int64_t /*billed*/, int to, uint64_t context, int tag,
                       std::span<const std::byte> bytes) {
    Send(to, context, tag, bytes);
  }
  /// Waits at most timeout() for a message. Throws Error if none arrives, naming `operation`, and
  /// if another rank has failed.
  virtual Message Receive(const MessageKey& key, const char* operation) = 0;
  /// Waits at most `seconds` (0: does not wait); false if no message has arrived. Throws Error if
  /// another rank has failed.
  virtual bool TryReceive(const MessageKey& key, double seconds, Message& message) = 0;

  /// The members of a context, which all of them compute: one list for those of this process where
  /// there are many, otherwise the caller's own.
  virtual std::shared_ptr<const Members> Share(uint64_t /*context*/, Members members) {
    return std::make_shared<const Members>(std::move(members));
  }

  /// Whether a collective of so many ranks is one event (JoinCollective, comm/collective_event.h),
  /// which waits for all. Throws as Receive.
  virtual bool CollectiveIsOneEvent(int /*ranks*/) const { return false; }
  virtual CollectiveTraffic JoinCollective(const CollectiveCall& call);

  /// Null if the world has no all-reduce of its own. All of these ranks call it, once per context,
  /// after a barrier.
  virtual std::unique_ptr<NativeAllReduce> MakeNativeAllReduce(uint64_t /*context*/,
                                                               std::span<const int> /*ranks*/) {
    return nullptr;
  }

  /// Whether Now is virtual: work then takes time only where it is charged.
  virtual bool InVirtualTime() const { return false; }
  virtual double Now() = 0;
  virtual void Sleep(double seconds) = 0;
  /// In a simulation: the seconds that this work takes there, and a wait of so long: of the CPU, on
  /// a core. Elsewhere 0, and nothing.
  virtual double Price(const Cost& /*cost*/, const WorkPlace& /*place*/) { return 0; }
  virtual void Work(double /*seconds*/, const WorkPlace& /*place*/) {}
  /// As Work, but the others' clocks may stay behind until this task's next call that is not Now,
  /// Price or WorkAhead: so long it touches nothing that others see or change.
  virtual void WorkAhead(double seconds, const WorkPlace& place) { Work(seconds, place); }
  /// Lets them catch up.
  virtual void CatchUp() {}
  /// In a simulation: the CPU's threads, where it is stated. Elsewhere 0.
  virtual int CpuThreads() { return 0; }
  /// Runs `body` concurrently with a transport of the same rank. Destroying the handle waits for
  /// its end.
  using Body = std::function<void(const std::shared_ptr<Transport>&)>;
  virtual std::shared_ptr<void> Spawn(Body body) = 0;
};

}  // namespace yoke
