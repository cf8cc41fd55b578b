// VirtualTime: asks the simulation, where there is one.
#include "comm/virtual_time.h"

#include <array>
#include <vector>

#include "comm/communicator_group.h"
#include "comm/gather.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

/// What a rank says of others in a count that is one event, and what they say of it.
struct Counting {
  const std::map<int, int64_t>& mine;
  int64_t of_this = 0;

  static void Combine(std::span<void* const> ranks) {
    for (void* const teller : ranks)
      for (const auto& [rank, count] : static_cast<Counting*>(teller)->mine)
        static_cast<Counting*>(ranks[rank])->of_this += count;
  }
};

}  // namespace

VirtualTime::VirtualTime(const Communicator& world)
    : world_(world), transport_(world.group_->transport->virtual_side()) {}

double VirtualTime::scale() const { return world_.group_->scale; }

double VirtualTime::Price(const Cost& cost, const WorkPlace& place) const {
  if (!transport_) return 0;
  Cost billed = cost;
  for (double* part : {&billed.operations, &billed.bytes, &billed.device_bytes}) *part *= scale();
  return transport_->Price(billed, AtItsSpeed(place));
}

WorkPlace VirtualTime::AtItsSpeed(const WorkPlace& place) {
  WorkPlace at = place;
  if (at.device != "cpu") at.device = AsFastAs(at.device);
  return at;
}

int64_t VirtualTime::CountFor(const std::map<int, int64_t>& mine) const {
  using Entry = std::array<int64_t, 2>;  // rank and count
  Counting counting = {.mine = mine};
  if (world_.Join({.data = &counting,
                   .bytes = static_cast<double>(mine.size() * sizeof(Entry)),
                   .combine = Counting::Combine,
                   .schedule = CollectiveSchedule::Gather(world_.size()),
                   .operation = "a count"}))
    return counting.of_this;
  std::vector<Entry> entries;
  entries.reserve(mine.size());
  for (const auto& [rank, count] : mine) entries.push_back({rank, count});
  int64_t sum = 0;
  const Communicator plain = WithScale(1);
  for (const std::vector<Entry>& theirs : GatherValues(plain, entries))
    for (const auto& [rank, count] : theirs)
      if (rank == world_.rank()) sum += count;
  world_.group_->traffic += plain.traffic();
  return sum;
}

}  // namespace yoke
