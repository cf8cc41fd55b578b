// Wire: the interface to an MPI: sends bytes from rank to rank, in order. comm/mpi.cc implements
// it, once for each MPI, in a shared library that needs no symbol of the program (it uses only our
// headers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace yoke {

/// The bytes of a message.
using Packet = std::vector<std::byte>;

/// Lengths above this are multiples of kWireBlock, because MPI counts in `int`.
inline constexpr int64_t kLongestInBytes = 1 << 30;
inline constexpr int64_t kWireBlock = 4096;

/// A group of ranks that computes sums by MPI's own all-reduce, one after another.
class WireGroup {
 public:
  virtual ~WireGroup() = default;
  /// Starts a sum with this rank's values; all ranks of the group call it. The memory may be reused
  /// on return.
  virtual void Begin(std::span<const float> values) = 0;
  /// Whether the sums are complete; also makes progress. Fails like a wire.
  virtual bool Done() = 0;
  /// Copies the sums, once they are done.
  virtual void Take(std::span<float> sums) const = 0;
};

/// Messages between all processes of the job, separate from those of other wires. Failures are
/// Errors with rank, peer and operation. If a process is lost and the MPI can continue without it,
/// Send, Receive and Sending throw RankLost (comm/transport.h) on all processes from then on.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Takes the bytes and returns immediately; from any thread.
  virtual void Send(int to, Packet bytes) = 0;
  /// Makes progress on all messages. Returns true if a message has arrived in `bytes`, in the order
  /// sent by each rank. From one thread at a time.
  virtual bool Receive(int& from, Packet& bytes) = 0;
  /// Whether messages sent by this process are still in flight.
  virtual bool Sending() = 0;
  /// Whether a part of a message has arrived. From the receiving thread.
  virtual bool Receiving() { return false; }
  /// Makes a group of these ranks, or null if the wire has no all-reduce. All of them call it and
  /// wait for each other. `context` distinguishes groups that are made at the same time.
  virtual std::unique_ptr<WireGroup> Group(std::span<const int> /*ranks*/, uint64_t /*context*/) {
    return nullptr;
  }
  /// Ends all processes of the job with this status, this one too.
  virtual void Abort(int status) = 0;
  /// After RankLost, called by all surviving processes: the wire between them, in their old order.
  /// This wire must outlive the new one.
  virtual std::unique_ptr<Wire> Survivors() = 0;
};

/// A running MPI. Destroying it ends MPI on all processes together.
class Mpi {
 public:
  virtual ~Mpi() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Called by all processes together. The wire must be destroyed before the Mpi.
  virtual std::unique_ptr<Wire> Open() = 0;
};

/// The unmangled name of the function that a library exports to start its MPI. The caller owns the
/// result. Throws Error.
inline constexpr const char* kStartMpi = "YokeStartMpi";
using StartMpi = Mpi* (*)();

}  // namespace yoke
