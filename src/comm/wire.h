// Wire: all that the program asks of an MPI: bytes from rank to rank, in order. comm/mpi.cc
// implements it, once for each MPI, in a shared library that knows nothing else of the program (no
// symbol of the program is needed there: what it uses of ours stands in headers).
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

/// Some ranks of a wire that add numbers up by MPI's own means, one sum after another.
class WireGroup {
 public:
  virtual ~WireGroup() = default;
  /// Takes this rank's numbers; all of the group do. The memory is free again on return.
  virtual void Begin(std::span<const float> values) = 0;
  /// Whether the sums are there; moves them on. Fails as a wire does.
  virtual bool Done() = 0;
  /// The sums, once they are done.
  virtual void Take(std::span<float> sums) const = 0;
};

/// Messages among all processes of the job, apart from those of every other wire. Failures are
/// Errors that name rank, peer and what was tried; RankLost (comm/lost.h) when a process is gone
/// and the MPI can go on without it: then Send, Receive and Sending throw it on all of them from
/// then on.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Takes the bytes and returns at once; from any thread.
  virtual void Send(int to, Packet bytes) = 0;
  /// Moves everything on that is under way. True when a message has come, which is then `bytes`:
  /// from each rank in the order sent. From one thread at a time.
  virtual bool Receive(int& from, Packet& bytes) = 0;
  /// Whether messages of ours are still under way.
  virtual bool Sending() = 0;
  /// Whether a part of a message has come. From the thread that receives.
  virtual bool Receiving() { return false; }
  /// These ranks of the wire as a group, null where the wire adds nothing up; all of them call it,
  /// and wait in it for each other. `context` tells groups apart that are made at once.
  virtual std::unique_ptr<WireGroup> Group(std::span<const int> /*ranks*/, uint64_t /*context*/) {
    return nullptr;
  }
  /// Ends all processes of the job with this status, this one too.
  virtual void Abort(int status) = 0;
  /// After RankLost, called by all processes that are left: the wire among them, in their old
  /// order. This one stays until then, and goes after it.
  virtual std::unique_ptr<Wire> Survivors() = 0;
};

/// A started MPI; its destruction ends it, on all processes together.
class Mpi {
 public:
  virtual ~Mpi() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Called by all processes together. The wire goes before the Mpi.
  virtual std::unique_ptr<Wire> Open() = 0;
};

/// What a library exports under this name, without C++'s mangling: starts its MPI. The caller owns
/// the result. Throws Error.
inline constexpr const char* kStartMpi = "YokeStartMpi";
using StartMpi = Mpi* (*)();

}  // namespace yoke
