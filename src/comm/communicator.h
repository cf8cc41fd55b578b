// Communicator: communication between ranks. It is a value: copies are the same rank in the same
// context. It is also the only source of a clock and background threads for strategies.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/collective_schedules.h"
#include "comm/transport.h"
#include "tensor/array.h"

namespace yoke {

/// Messages that a rank sent and received in a context, including collectives.
struct Traffic {
  int64_t messages_sent = 0, bytes_sent = 0;
  int64_t messages_received = 0, bytes_received = 0;
  /// Part of bytes_sent that is computed, because MPI's collectives cannot be observed.
  int64_t bytes_by_formula = 0;
  double seconds_waited = 0;  ///< Time in receives.

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

class Members;
struct CollectiveCall;  // comm/virtual_time.h
class PendingMessage;

class Communicator {
 public:
  /// The whole world.
  explicit Communicator(std::shared_ptr<Transport> transport);

  int rank() const;
  int size() const;

  /// Tags of callers are at least 0. A rank may send to itself. The memory may be reused on return.
  /// The first `plain` bytes do not depend on the size of the model (VirtualTime::BilledBy).
  void Send(std::span<const std::byte> bytes, int to, int tag, size_t plain = 0) const;
  /// Waits for a message. `from` may be kAnySource; the message's source is a rank of this
  /// communicator. After the timeout it throws Error with both ranks, the operation and what to
  /// try.
  Message Receive(int from, int tag) const;
  /// Receives a message of exactly this length into memory; returns its source.
  int Receive(std::span<std::byte> into, int from, int tag) const;
  /// Waits at most `seconds`; false if no message has arrived.
  bool TryReceive(int from, int tag, Message& message, double seconds = 0) const;
  /// Receives the next message without a timeout, from peers that may be silent for long: a rank's
  /// own threads, clients, a rank that writes a checkpoint. Throws Error if a rank has failed.
  Message ReceiveWithoutTimeout(int from, int tag) const;

  /// Starts a receive to be completed later, while other work is done. (Send needs no such form: it
  /// copies the bytes and returns.) For a collective in the background, call it from a spawned
  /// thread.
  PendingMessage ReceiveLater(int from, int tag) const;

  // Collectives: all ranks call the same ones in the same order, with buffers of equal length.

  void Broadcast(std::span<std::byte> bytes, int root) const;
  /// Writes the sums over the ranks to root's values, added in an order that depends only on size
  /// and root. The other ranks' values are overwritten.
  void Reduce(std::span<float> values, int root) const;
  /// Writes the sums to every rank's values, bit-identical on all ranks (kMpi: if MPI ensures it,
  /// as Open MPI and MPICH do). kAuto: the world's algorithm. kMpi throws UserError in a world
  /// without it, and its messages are counted by the formula of kAuto.
  void AllReduce(std::span<float> values,
                 AllReduceAlgorithm algorithm = AllReduceAlgorithm::kAuto) const;
  // The same of arrays. Those on a device go through the host's memory, unless the world adds there
  // (Transport::MakeDeviceAllReduce).

  void Broadcast(Array<float> values, int root) const;
  void Reduce(Array<float> values, int root) const;
  /// In the order of `stream`, of the values' device: it sums what the work enqueued before leaves,
  /// and the sums are there for what is enqueued afterwards.
  void AllReduce(Array<float> values, Stream& stream) const;
  /// In that of CurrentStream.
  void AllReduce(Array<float> values) const;
  /// Whether it only enqueues for arrays of the device, so that a capture can hold it. All ranks
  /// call it.
  bool SumsOnDevice(Device& device) const;
  /// Sums that a capture holds have been launched on `stream`.
  void SumsLaunched(Stream& stream) const;

  /// Whether the world has its own all-reduce; all ranks call it.
  bool HasMpiAllReduce() const;
  /// The bytes of all ranks, by rank; lengths may differ.
  std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine) const;
  void Barrier() const;

  /// The ranks with the same color, ordered by key, then rank.
  Communicator Split(int color, int key) const;
  /// The same ranks with separate messages and counters, for a background thread.
  Communicator Duplicate() const;

  double timeout() const;  ///< Seconds that one wait may last.
  double Now() const;
  void Sleep(double seconds) const;
  /// Accounts for work of this rank in a simulation; elsewhere it does nothing.
  void Charge(const Cost& cost, const WorkPlace& place = {}) const;
  /// Runs body(communicator) concurrently, with a duplicate of this one; all ranks call it in the
  /// same order. Destroying the handle waits for its end.
  std::shared_ptr<void> Spawn(std::function<void(const Communicator&)> body) const;
  /// This context for a thread started by Spawn, given its communicator, so that the thread and its
  /// owner can exchange messages (each with its own tags for receiving). Counters are separate.
  Communicator For(const Communicator& spawned) const;

  Traffic traffic() const;

 private:
  friend class VirtualTime;
  struct Group;
  explicit Communicator(std::shared_ptr<Group> group) : group_(std::move(group)) {}
  uint64_t NextContext(uint64_t color) const;
  Communicator Open(uint64_t context, std::shared_ptr<const Members> members) const;
  Communicator Through(const std::shared_ptr<Transport>& transport) const;
  Communicator WithScale(double scale) const;
  int64_t Billed(size_t bytes, size_t plain = 0) const;
  void SendFor(int64_t billed, std::span<const std::byte> bytes, int to, int tag) const;
  Message Take(int from, int tag, const char* operation) const;
  struct InnerMessage {
    int tag = 0;
    const char* operation = "";
    bool plain = false;  // billed as it is
    bool adds = false;   // its values are added to the receiver's
  };
  int TakeInto(std::span<std::byte> into, int from, const InnerMessage& what) const;
  void Follow(const CollectiveSchedule& schedule, std::span<std::byte> bytes,
              InnerMessage what) const;
  bool Join(CollectiveCall call) const;
  void MpiAllReduce(std::span<float> values) const;
  DeviceAllReduce* DeviceSum(Device& device) const;

  std::shared_ptr<Group> group_;  // shared by copies: the counters of one rank in one context
};

/// A message that may not have arrived yet. Of several for the same source and tag, the first one
/// asked gets the first message.
class PendingMessage {
 public:
  PendingMessage(Communicator communicator, int from, int tag)
      : communicator_(std::move(communicator)), from_(from), tag_(tag) {}

  /// Whether it has arrived; does not wait. A caller that polls must sleep in between, because
  /// otherwise time in a simulation does not advance.
  bool Ready();
  /// Waits for it like Receive and returns it.
  Message Wait();

 private:
  Communicator communicator_;
  int from_, tag_;
  bool come_ = false;
  Message message_;
};

}  // namespace yoke
