// Communicator: collectives that follow a schedule; of very many ranks they are single events.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"
#include "comm/communicator_group.h"
#include "comm/virtual_time.h"
#include "tensor/array.h"
#include "tensor/counting.h"

namespace yoke {
namespace {

// Tags of messages inside collectives; callers' tags are at least 0.
enum Inside : int { kBroadcast = -1, kReduce = -2, kAllReduce = -3, kGather = -4, kBarrier = -5 };

/// Adds the values of all ranks, in their order, and gives each the sums.
void SumAll(std::span<void* const> ranks) {
  const auto of = [&](size_t rank) { return *static_cast<std::span<float>*>(ranks[rank]); };
  std::vector<float> sums(of(0).begin(), of(0).end());
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    Check(of(rank).size() == sums.size(), "ranks disagree about the length of a message");
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += of(rank)[i];
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) std::ranges::copy(sums, of(rank).begin());
}

}  // namespace

/// This rank's messages of a collective on these bytes, which are those of floats where the
/// schedule adds or divides them.
void Communicator::Follow(const CollectiveSchedule& schedule, std::span<std::byte> bytes,
                          InnerMessage what) const {
  constexpr int64_t kElement = sizeof(float);
  const auto elements = static_cast<int64_t>(bytes.size()) / kElement;
  const int64_t billed = what.plain ? std::ssize(bytes) : Billed(bytes.size());
  const auto part_of = [&](const CollectiveSchedule::Part& part) {
    if (part.of == 1) return bytes;
    const auto [begin, count] = schedule.RangeOf(part, elements);
    return bytes.subspan(kElement * begin, kElement * count);
  };
  const auto billed_for = [&](const CollectiveSchedule::Part& part) {
    return part.of == 1 ? billed : kElement * schedule.RangeOf(part, billed / kElement).count;
  };
  for (int round = 0; round < schedule.rounds(); ++round) {
    const CollectiveSchedule::Move move = schedule.At(rank(), round);
    if (move.to >= 0) SendFor(billed_for(move.sent), part_of(move.sent), move.to, what.tag);
    what.adds = move.adds;
    if (move.from >= 0) TakeInto(part_of(move.received), move.from, what);
  }
}

/// A collective of very many ranks as one event; false where it is messages.
bool Communicator::Join(CollectiveCall call) const {
  VirtualTransport* const simulated = group_->transport->virtual_side();
  if (!simulated || !simulated->CollectiveIsOneEvent(size())) return false;
  call.context = group_->context;
  call.members = group_->members.get();
  call.rank = rank();
  const double began = Now();
  const CollectiveTraffic mine = simulated->JoinCollective(call);
  group_->traffic += {.messages_sent = mine.messages_sent,
                      .bytes_sent = std::llround(mine.bytes_sent),
                      .messages_received = mine.messages_received,
                      .bytes_received = std::llround(mine.bytes_received),
                      .seconds_waited = Now() - began - mine.seconds_sending};
  return true;
}

void Communicator::Broadcast(std::span<std::byte> bytes, int root) const {
  Follow(CollectiveSchedule::Broadcast(size(), root), bytes, {kBroadcast, "broadcast"});
}

void Communicator::Reduce(std::span<float> values, int root) const {
  Follow(CollectiveSchedule::Reduce(size(), root), std::as_writable_bytes(values),
         {kReduce, "reduce"});
}

void Communicator::AllReduce(std::span<float> values, AllReduceAlgorithm algorithm) const {
  if (size() == 1) return;
  const int64_t billed = Billed(values.size_bytes());
  if (algorithm == AllReduceAlgorithm::kAuto) algorithm = group_->transport->all_reduce();
  if (algorithm == AllReduceAlgorithm::kMpi) return MpiAllReduce(values);
  if (algorithm == AllReduceAlgorithm::kAuto) algorithm = ChooseAllReduce(billed, size());
  const CollectiveSchedule schedule = CollectiveSchedule::AllReduce(algorithm, size());
  if (Join({.data = &values,
            .bytes = static_cast<double>(billed),
            .combine = SumAll,
            .schedule = schedule,
            .operation = "all-reduce"}))
    return;
  if (algorithm != AllReduceAlgorithm::kTree)
    return Follow(schedule, std::as_writable_bytes(values), {kAllReduce, "all-reduce"});
  Reduce(values, 0);
  Broadcast(std::as_writable_bytes(values), 0);
}

void Communicator::Broadcast(Array<float> values, int root) const {
  const CountedAs scope("exchange");
  HostCopy& staged = group_->staged;
  const std::span<float> copy = rank() == root ? staged.Read(values) : staged.Of(values);
  Broadcast(std::as_writable_bytes(copy), root);
  if (rank() != root) staged.Write(values);
}

void Communicator::Reduce(Array<float> values, int root) const {
  const CountedAs scope("exchange");
  Reduce(group_->staged.Read(values), root);
  if (rank() == root) group_->staged.Write(values);
}

void Communicator::AllReduce(Array<float> values) const {
  AllReduce(values, CurrentStream(*values.device));
}

/// Its memory goes.
StagedSum::~StagedSum() {
  try {
    if (gone) gone->Wait();
  } catch (const std::exception&) {  // who needed the sums has been told
  }
}

/// The host waits until the values have come, once; it does not wait for the copy back.
void Communicator::AllReduce(Array<float> values, Stream& stream) const {
  if (size() == 1) return;
  const CountedAs scope("exchange");
  DeviceAllReduce* const sum = DeviceSum(*values.device);  // asked by all, wherever theirs lie
  if (values.OnHost()) return AllReduce(values.Host());
  if (sum) return sum->Enqueue(values, stream);
  auto& [memory, come, gone] = group_->staged_sum;
  if (!memory) memory.emplace(Target{.device = &values.device->staging()});
  const std::span<float> here(memory->Reserve<float>(values.count), values.count);
  if (gone) stream.Await(gone);
  stream.Copy(here.data(), values.data, values.Bytes());
  stream.Record(come);
  if (values.count > 0) come->Wait();
  AllReduce(here);
  stream.Copy(values.data, here.data(), values.Bytes());
  stream.Record(gone);
}

bool Communicator::SumsOnDevice(Device& device) const {
  return size() > 1 && DeviceSum(device) && !device.IsHost();
}

void Communicator::SumsLaunched(Stream& stream) const {
  if (DeviceAllReduce* const sum = group_->on_device.get()) sum->Launched(stream);
}

/// Null: the world has none for these devices.
DeviceAllReduce* Communicator::DeviceSum(Device& device) const {
  Group& group = *group_;
  if (!std::exchange(group.device_asked, true)) {
    const Traffic before = group.traffic;
    group.on_device = group.transport->MakeDeviceAllReduce(*this, device);
    group.traffic = before;
  }
  return group.on_device.get();
}

bool Communicator::HasMpiAllReduce() const {
  if (!group_->asked) {
    Barrier();
    group_->native =
        group_->transport->MakeNativeAllReduce(group_->context, group_->members->List());
    group_->asked = true;
  }
  return group_->native != nullptr;
}

/// The barrier waits for late ranks and names them; only its time is counted, not its messages.
void Communicator::MpiAllReduce(std::span<float> values) const {
  Require(HasMpiAllReduce(), "MPI's all-reduce needs the processes of an MPI's launcher");
  Traffic& traffic = group_->traffic;
  const Traffic before = traffic;
  const double began = Now();
  Barrier();
  group_->native->Sum(values);
  const double waited = Now() - began;
  const Cost cost = CostOfAllReduce(static_cast<int64_t>(values.size_bytes()), size());
  const auto part = [this](double all) {
    const auto whole = std::llround(all);
    return whole / size() + (rank() < whole % size() ? 1 : 0);
  };
  const int64_t messages = part(cost.messages), bytes = part(cost.message_bytes);
  traffic = before;
  traffic += {.messages_sent = messages,
              .bytes_sent = bytes,
              .messages_received = messages,
              .bytes_received = bytes,
              .bytes_by_formula = bytes,
              .seconds_waited = waited};
}

namespace {

/// What a rank gives to a gather that is one event, and where it gets what all gave.
struct GatherData {
  std::span<const std::byte> mine;
  std::vector<std::vector<std::byte>> all = {};

  static void Combine(std::span<void* const> ranks) {
    for (void* const taker : ranks)
      for (void* const giver : ranks) {
        const std::span<const std::byte> mine = static_cast<GatherData*>(giver)->mine;
        static_cast<GatherData*>(taker)->all.emplace_back(mine.begin(), mine.end());
      }
  }
};

}  // namespace

std::vector<std::vector<std::byte>> Communicator::AllGather(std::span<const std::byte> mine) const {
  const CollectiveSchedule schedule = CollectiveSchedule::Gather(size());
  GatherData gathering = {.mine = mine};
  if (Join({.data = &gathering,
            .bytes = static_cast<double>(Billed(mine.size())),
            .combine = GatherData::Combine,
            .schedule = schedule,
            .operation = "all-gather"}))
    return std::move(gathering.all);
  std::vector<std::vector<std::byte>> all(size());
  all[rank()].assign(mine.begin(), mine.end());
  for (int round = 0; round < schedule.rounds(); ++round) {
    const CollectiveSchedule::Move move = schedule.At(rank(), round);
    Send(all[move.sent.index], move.to, kGather);
    all[move.received.index] = Take(move.from, kGather, "all-gather").bytes;
  }
  return all;
}

void Communicator::Barrier() const {
  const CollectiveSchedule schedule = CollectiveSchedule::Barrier(size());
  if (!Join({.schedule = schedule, .operation = "barrier"}))
    Follow(schedule, {}, {kBarrier, "barrier"});
}

namespace {

/// Those of one color, given by key and rank of `parent`: by key, then rank.
Members OneColor(std::vector<std::pair<int, int>> same, const Members& parent) {
  std::ranges::sort(same);
  std::vector<int> list;
  list.reserve(same.size());
  for (const auto& [key, rank] : same) list.push_back(parent.World(rank));
  return Members(std::move(list));
}

/// What a rank of `parent` says to a split, and the list that its color gets.
struct Splitting {
  const Members& parent;
  int color = 0, key = 0;
  std::shared_ptr<const Members> members = nullptr;

  static void Combine(std::span<void* const> ranks) {
    const auto of = [&](size_t i) -> Splitting& { return *static_cast<Splitting*>(ranks[i]); };
    std::map<int, std::vector<std::pair<int, int>>> colors;  // key, rank
    for (size_t i = 0; i < ranks.size(); ++i)
      colors[of(i).color].emplace_back(of(i).key, static_cast<int>(i));
    for (const auto& [color, same] : colors) {
      const auto shared = std::make_shared<const Members>(OneColor(same, of(0).parent));
      for (const auto& [key, rank] : same) of(rank).members = shared;
    }
  }
};

}  // namespace

/// The colors and keys go around the ring, as in AllGather, with less memory.
Communicator Communicator::Split(int color, int key) const {
  const CollectiveSchedule schedule = CollectiveSchedule::Gather(size());
  const auto child = static_cast<uint64_t>(color) + 1;
  Splitting mine = {.parent = *group_->members, .color = color, .key = key};
  if (Join({.data = &mine,
            .bytes = 2 * sizeof(int),
            .combine = Splitting::Combine,
            .schedule = schedule,
            .operation = "a split"}))
    return Open(NextContext(child), std::move(mine.members));
  std::vector<std::array<int, 2>> said(size());
  said[rank()] = {color, key};
  Follow(schedule, std::as_writable_bytes(std::span(said)), {kGather, "all-gather", true});
  std::vector<std::pair<int, int>> same;  // key, rank
  for (int i = 0; i < size(); ++i)
    if (said[i][0] == color) same.emplace_back(said[i][1], i);
  const uint64_t context = NextContext(child);
  Members members = OneColor(std::move(same), *group_->members);
  if (VirtualTransport* const simulated = group_->transport->virtual_side())
    return Open(context, simulated->Share(context, std::move(members)));
  return Open(context, std::make_shared<const Members>(std::move(members)));
}

}  // namespace yoke
