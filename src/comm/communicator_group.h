// Communicator::Group: what copies of a communicator share. Only communicator.cc, collectives.cc
// and virtual_time.cc include it.
#pragma once

#include <memory>
#include <optional>

#include "comm/communicator.h"
#include "comm/members.h"
#include "tensor/array.h"
#include "tensor/growing_buffer.h"

namespace yoke {

/// The host's memory of sums over arrays on a device. Work of the last one may be under way.
struct StagedSum {
  StagedSum() = default;
  ~StagedSum();
  StagedSum(StagedSum&&) = default;
  StagedSum& operator=(StagedSum&&) = default;

  std::optional<GrowingBuffer> memory;
  std::shared_ptr<Event> come, gone;  ///< The last values, to the host and back.
};

struct Communicator::Group {
  std::shared_ptr<Transport> transport;
  uint64_t context = 0;
  std::shared_ptr<const Members> members = {};
  int rank = 0;  // among them
  uint64_t children = 0;
  double scale = 1;
  Traffic traffic = {};
  bool asked = false;  // whether `native` was looked up
  std::unique_ptr<NativeAllReduce> native = {};
  HostCopy staged = {};
  bool device_asked = false;  // whether `on_device` was looked up
  std::unique_ptr<DeviceAllReduce> on_device = {};
  StagedSum staged_sum = {};

  /// The rank from which a message came that was wanted `from` there.
  int SourceOf(const Message& message, int from) const {
    return from == kAnySource ? members->RankOf(message.source) : from;
  }
  MessageKey Key(int from, int tag) const {
    const int source = from == kAnySource ? kAnySource : members->World(from);
    return {.context = context, .source = source, .tag = tag};
  }
};

}  // namespace yoke
