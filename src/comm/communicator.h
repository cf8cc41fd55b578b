// Communicator: what ranks say to each other. A value: copies speak for the same rank in the same
// context. It is also the only place where a strategy gets a clock and a background thread.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/transport.h"

namespace yoke {

/// What a rank sent and received in a context, collectives included.
struct Traffic {
  int64_t messages_sent = 0, bytes_sent = 0;
  int64_t messages_received = 0, bytes_received = 0;
  int64_t bytes_by_formula = 0;  ///< Of those sent: MPI's collectives are not seen, but computed.
  double seconds_waited = 0;     ///< In receives.

  Traffic& operator+=(const Traffic& other) {
    messages_sent += other.messages_sent;
    bytes_sent += other.bytes_sent;
    messages_received += other.messages_received;
    bytes_received += other.bytes_received;
    bytes_by_formula += other.bytes_by_formula;
    seconds_waited += other.seconds_waited;
    return *this;
  }
};

/// For kAuto.
AllReduceWay ChooseAllReduce(int64_t bytes, int size);

/// Messages and bytes that all `ranks` together send in an all-reduce of `bytes` left to itself,
/// and in a broadcast or a reduce.
Cost CostOfAllReduce(int64_t bytes, int ranks);
Cost CostOfTree(int64_t bytes, int ranks);

/// Piece i of so many, which differ by one number at most: where it begins among n numbers, and it.
inline int64_t PieceBegin(int64_t n, int64_t i, int64_t pieces) { return n * i / pieces; }
std::span<float> Piece(std::span<float> values, int64_t i, int64_t pieces);

class PendingMessage;

class Communicator {
 public:
  /// The whole world.
  explicit Communicator(std::shared_ptr<Transport> transport);

  int rank() const;
  int size() const;

  /// Tags of callers are 0 and more. Sending to oneself is allowed. Memory is free again on return.
  void Send(std::span<const std::byte> bytes, int to, int tag) const;
  /// Waits; `from` may be kAnySource, and the message's source is a rank of this communicator.
  /// Throws Error after the timeout, saying who waited for whom, in what, and what to try.
  Message Receive(int from, int tag) const;
  /// A message of exactly this length, into memory; returns its source.
  int Receive(std::span<std::byte> into, int from, int tag) const;
  /// Waits at most `seconds`: false when there is none by then.
  bool TryReceive(int from, int tag, Message& message, double seconds = 0) const;

  /// Names a message to be taken later, while other work is done. (Send needs no such form: it
  /// takes the bytes and returns.) A collective in the background is one that a spawned thread
  /// calls.
  PendingMessage ReceiveLater(int from, int tag) const;

  // Collectives: all ranks call the same ones in the same order, with buffers of equal length.

  void Broadcast(std::span<std::byte> bytes, int root) const;
  /// root's values become the sums over the ranks, added in an order that depends on size and root
  /// alone; those of the others are spoiled.
  void Reduce(std::span<float> values, int root) const;
  /// Everybody's values become the sums, the same bits everywhere (with MPI's own all-reduce: if
  /// MPI sees to it, as Open MPI and MPICH do). kAuto: the world's way. MPI's own throws UserError
  /// in a world without it, and its messages are counted by the formula of kAuto.
  void AllReduce(std::span<float> values, AllReduceWay way = AllReduceWay::kAuto) const;
  /// Whether the world has an all-reduce of its own; all ranks call it.
  bool HasMpiAllReduce() const;
  /// What each rank gave, by rank; lengths may differ.
  std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine) const;
  void Barrier() const;

  /// Those with the same color, ordered by key, then rank.
  Communicator Split(int color, int key) const;
  /// The same ranks; messages and counters apart from these: for a background thread.
  Communicator Duplicate() const;

  double timeout() const;  ///< Seconds that one wait may last.
  double Now() const;
  void Sleep(double seconds) const;
  void Charge(const Cost& cost) const;
  /// Runs body(communicator) beside the caller, with a duplicate of this one; all ranks call it in
  /// the same order. The handle's destruction waits for its end.
  std::shared_ptr<void> Spawn(std::function<void(const Communicator&)> body) const;
  /// This context for a thread that Spawn began, given its communicator: how it and its owner speak
  /// to each other (by tags that only one of them receives). Counters apart.
  Communicator For(const Communicator& spawned) const;

  Traffic traffic() const;

 private:
  struct Group;
  explicit Communicator(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  Communicator Open(uint64_t color, std::vector<int> members) const;
  Communicator Through(const std::shared_ptr<Transport>& transport) const;
  Message Take(int from, int tag, const char* operation) const;
  void Add(std::span<float> values, int from, int tag, const char* operation) const;
  int Copy(std::span<std::byte> bytes, int from, int tag, const char* operation) const;
  void RingAllReduce(std::span<float> values) const;
  void HalvingAllReduce(std::span<float> values) const;
  void MpiAllReduce(std::span<float> values) const;

  std::shared_ptr<Group> group_;  // shared by copies: counters are one rank's in one context
};

/// A message that may not have come yet. Of several for the same source and tag, the first that is
/// asked gets the first message.
class PendingMessage {
 public:
  PendingMessage(Communicator communicator, int from, int tag)
      : communicator_(std::move(communicator)), from_(from), tag_(tag) {}

  /// Whether it has come; does not wait. Who asks again and again sleeps in between: in a
  /// simulation time stands still otherwise.
  bool Ready();
  /// Waits for it as Receive does, and gives it away.
  Message Wait();

 private:
  Communicator communicator_;
  int from_, tag_;
  bool come_ = false;
  Message message_;
};

}  // namespace yoke
