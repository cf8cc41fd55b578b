// Virtual time: what a simulation adds to a transport, and to a communicator for those who simulate
// or account for work. A strategy needs only Communicator's Charge.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "comm/communicator.h"
#include "comm/members.h"

namespace yoke {

/// What one rank contributes to a collective that all ranks of a context call, and that none leaves
/// before all have come.
struct CollectiveCall {
  void* data = nullptr;  ///< This rank's, for `combine`.
  double bytes = 0;      ///< Of this rank's values, or of its part in a gather, as they are billed.
  /// Run once, when all have come: exchanges the data, given by rank. Time does not pass in it.
  void (*combine)(std::span<void* const>) = [](std::span<void* const>) {};
  CollectiveSchedule schedule;  ///< The messages, which take the time.
  const char* operation = "";   ///< For messages about a wait.
  // The rest is the communicator's.
  uint64_t context = 0;
  const Members* members = nullptr;
  int rank = 0;  ///< Among them.
};

/// Of one rank in a collective that is one event.
struct CollectiveTraffic {
  int64_t messages_sent = 0, messages_received = 0;
  double bytes_sent = 0, bytes_received = 0;
  double seconds_sending = 0;  ///< To copy what it sent, which is no wait.
};

/// The side of a simulated transport that others do not have.
class VirtualTransport {
 public:
  /// Transport::Send for bytes that stand for `billed` ones.
  virtual void SendFor(int64_t billed, int to, uint64_t context, int tag,
                       std::span<const std::byte> bytes) = 0;
  /// The members of a context, which all of them compute: one list for all.
  virtual std::shared_ptr<const Members> Share(uint64_t context, Members members) = 0;
  /// Whether a collective of so many ranks is one event, which waits for all. Throws as Receive.
  virtual bool CollectiveIsOneEvent(int ranks) const = 0;
  virtual CollectiveTraffic JoinCollective(const CollectiveCall& call) = 0;
  // As VirtualTime's.
  virtual double Price(const Cost& cost, const WorkPlace& place) = 0;
  virtual void Work(double seconds, const WorkPlace& place) = 0;
  virtual void WorkAhead(double seconds, const WorkPlace& place) = 0;
  virtual void CatchUp() = 0;
  virtual int CpuThreads() = 0;

 protected:
  ~VirtualTransport() = default;
};

/// A communicator, which outlives it, as those see it who simulate. In real time messages are
/// billed as they are, work has no price, and Work and its like do nothing.
class VirtualTime {
 public:
  explicit VirtualTime(const Communicator& world);

  bool rules() const { return transport_ != nullptr; }  ///< Work takes time only as charged.

  /// Where models are shrunken: a duplicate whose messages and work, and those of its own
  /// duplicates and parts, are billed `scale` times.
  Communicator BilledBy(double scale) const { return world_.Duplicate().WithScale(scale); }
  /// The same context billed otherwise, with counters of its own.
  Communicator WithScale(double scale) const { return world_.WithScale(scale); }
  double scale() const;
  /// For how many bytes a message stands.
  int64_t Billed(size_t bytes, size_t plain = 0) const { return world_.Billed(bytes, plain); }

  /// Charge in two halves, for work in pieces that vary together: its seconds, and their use: of
  /// the CPU, on a core. Throws UserError for a device whose speed the simulation does not know.
  double Price(const Cost& cost, const WorkPlace& place = {}) const;
  void Work(double seconds, const WorkPlace& place = {}) const {
    if (transport_) transport_->Work(seconds, AtItsSpeed(place));
  }
  /// As Work, for pieces of work one after the other: the other ranks may come to these seconds
  /// later, at CatchUp or when this one sends or receives. The caller shares nothing meanwhile.
  void WorkAhead(double seconds, const WorkPlace& place = {}) const {
    if (transport_) transport_->WorkAhead(seconds, AtItsSpeed(place));
  }
  void CatchUp() const {
    if (transport_) transport_->CatchUp();
  }
  /// The threads of a simulated CPU, where stated; 0: those of the machine.
  int CpuThreads() const { return transport_ ? transport_->CpuThreads() : 0; }

  /// The sum over all ranks of what they say of this one, each by a list of ranks and counts.
  int64_t CountFor(const std::map<int, int64_t>& mine) const;

 private:
  /// With the device whose speed it has.
  static WorkPlace AtItsSpeed(const WorkPlace& place);

  const Communicator& world_;
  VirtualTransport* transport_;
};

inline bool InVirtualTime(const Communicator& world) { return VirtualTime(world).rules(); }

}  // namespace yoke
