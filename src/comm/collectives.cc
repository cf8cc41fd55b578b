// Communicator: collectives built on messages; of very many ranks they are single events.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"
#include "comm/collective_event.h"
#include "comm/communicator_group.h"

namespace yoke {
namespace {

// Tags of messages inside collectives; callers' tags are at least 0.
enum Inside : int { kBroadcast = -1, kReduce = -2, kAllReduce = -3, kGather = -4, kBarrier = -5 };

constexpr int64_t kElement = sizeof(float);
constexpr int64_t kShortPiece = 4096;  // bytes; from here on bandwidth outweighs latency

}  // namespace

std::span<float> Piece(std::span<float> values, int64_t i, int64_t pieces) {
  const auto n = static_cast<int64_t>(values.size());
  const int64_t begin = PieceBegin(n, i, pieces);
  return values.subspan(begin, PieceBegin(n, i + 1, pieces) - begin);
}

AllReduceAlgorithm ChooseAllReduce(int64_t bytes, int size) {
  if (std::has_single_bit(static_cast<unsigned>(size))) return AllReduceAlgorithm::kHalving;
  return bytes / size < kShortPiece ? AllReduceAlgorithm::kTree : AllReduceAlgorithm::kRing;
}

Cost CostOfAllReduce(int64_t bytes, int ranks) {
  const auto n = static_cast<double>(bytes), p = static_cast<double>(ranks);
  Cost cost{.message_bytes = 2 * (p - 1) * n};
  switch (ChooseAllReduce(bytes, ranks)) {
    case AllReduceAlgorithm::kTree:
      cost.messages = 2 * (p - 1);
      break;
    case AllReduceAlgorithm::kHalving:
      cost.messages = 2 * std::log2(p) * p;
      break;
    default:
      cost.messages = 2 * (p - 1) * p;
  }
  return cost;
}

Cost CostOfTree(int64_t bytes, int ranks) {
  return {.messages = ranks - 1.0, .message_bytes = static_cast<double>(bytes) * (ranks - 1.0)};
}

/// A collective as one event.
void Communicator::JoinCollective(const CollectiveCall& call) const {
  const double began = Now();
  const CollectiveTraffic mine = group_->transport->JoinCollective(call);
  group_->traffic += {.messages_sent = mine.messages_sent,
                      .bytes_sent = std::llround(mine.bytes_sent),
                      .messages_received = mine.messages_received,
                      .bytes_received = std::llround(mine.bytes_received),
                      .seconds_waited = Now() - began - mine.seconds_sending};
}

/// A binomial tree below root.
void Communicator::Broadcast(std::span<std::byte> bytes, int root) const {
  const int place = (rank() - root + size()) % size();
  int bit = 1;
  for (; bit < size(); bit *= 2)
    if (place & bit) {
      Copy(bytes, (place - bit + root) % size(), kBroadcast, "broadcast");
      break;
    }
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < size()) Send(bytes, (place + bit + root) % size(), kBroadcast);
}

void Communicator::Reduce(std::span<float> values, int root) const {
  const int place = (rank() - root + size()) % size();
  for (int bit = 1; bit < size(); bit *= 2) {
    if (place & bit) return Send(std::as_bytes(values), (place - bit + root) % size(), kReduce);
    if (place + bit < size()) Add(values, (place + bit + root) % size(), kReduce, "reduce");
  }
}

void Communicator::AllReduce(std::span<float> values, AllReduceAlgorithm algorithm) const {
  if (size() == 1) return;
  if (algorithm == AllReduceAlgorithm::kAuto) algorithm = group_->transport->all_reduce();
  if (algorithm == AllReduceAlgorithm::kMpi) return MpiAllReduce(values);
  if (algorithm == AllReduceAlgorithm::kAuto)
    algorithm = ChooseAllReduce(Billed(values.size_bytes()), size());
  if (AllReduceAtOnce(values, algorithm)) return;
  if (algorithm == AllReduceAlgorithm::kRing) return RingAllReduce(values);
  if (algorithm == AllReduceAlgorithm::kHalving) return HalvingAllReduce(values);
  Reduce(values, 0);
  Broadcast(std::as_writable_bytes(values), 0);
}

void Communicator::Broadcast(Array<float> values, int root) const {
  HostCopy<float> copy(values);
  if (rank() == root) copy.Read();
  Broadcast(std::as_writable_bytes(copy.Host()), root);
  if (rank() != root) copy.Write();
}

void Communicator::Reduce(Array<float> values, int root) const {
  HostCopy<float> copy(values);
  copy.Read();
  Reduce(copy.Host(), root);
  if (rank() == root) copy.Write();
}

void Communicator::AllReduce(Array<float> values) const {
  if (size() == 1) return;
  HostCopy<float> copy(values);
  copy.Read();
  AllReduce(copy.Host());
  copy.Write();
}

int64_t Communicator::ElementsBilled(size_t elements) const {
  return Billed(kElement * elements) / kElement;
}

/// A collective event in the place of messages that go once around the ring.
void Communicator::JoinRing(void* data, double bytes, void (*combine)(std::span<void* const>),
                            const char* operation) const {
  JoinCollective(
      {.context = group_->context,
       .members = *group_->members,
       .rank = rank(),
       .data = data,
       .bytes = bytes,
       .combine = combine,
       .rounds = [p = size()](MessageRounds& rounds, double mean) { rounds.Ring(p - 1, mean); },
       .operation = operation});
}

/// One of very many ranks. Added in the order of the ranks.
bool Communicator::AllReduceAtOnce(std::span<float> values, AllReduceAlgorithm algorithm) const {
  if (!group_->transport->CollectiveIsOneEvent(size())) return false;
  JoinCollective({.context = group_->context,
                  .members = *group_->members,
                  .rank = rank(),
                  .data = &values,
                  .bytes = static_cast<double>(Billed(values.size_bytes())),
                  .combine =
                      [](std::span<void* const> all) {
                        const auto of = [&](size_t i) {
                          return *static_cast<std::span<float>*>(all[i]);
                        };
                        std::vector<float> sums(of(0).begin(), of(0).end());
                        for (size_t rank = 1; rank < all.size(); ++rank) {
                          Check(of(rank).size() == sums.size(),
                                "ranks disagree about the length of a message");
                          for (size_t i = 0; i < sums.size(); ++i) sums[i] += of(rank)[i];
                        }
                        for (size_t rank = 0; rank < all.size(); ++rank)
                          std::ranges::copy(sums, of(rank).begin());
                      },
                  .rounds = [algorithm, ranks = size()](
                                MessageRounds& rounds,
                                double bytes) { AllReduceRounds(rounds, algorithm, ranks, bytes); },
                  .operation = "all-reduce"});
  return true;
}

/// Each piece goes around the ring twice: to be summed, then to distribute the sum.
void Communicator::RingAllReduce(std::span<float> values) const {
  const int p = size(), right = (rank() + 1) % p, left = (rank() + p - 1) % p;
  const auto place = [p](int i) { return ((i % p) + p) % p; };
  const auto piece = [&](int i) { return Piece(values, place(i), p); };
  const int64_t elements = ElementsBilled(values.size());
  const auto send = [&](int i) {
    const int64_t begin = PieceBegin(elements, place(i), p),
                  end = PieceBegin(elements, place(i) + 1, p);
    SendFor(kElement * (end - begin), std::as_bytes(piece(i)), right, kAllReduce);
  };
  for (int s = 0; s < p - 1; ++s) {
    send(rank() - s);
    Add(piece(rank() - s - 1), left, kAllReduce, "all-reduce");
  }
  for (int s = 0; s < p - 1; ++s) {
    send(rank() + 1 - s);
    Copy(std::as_writable_bytes(piece(rank() - s)), left, kAllReduce, "all-reduce");
  }
}

/// Recursive halving until each rank has the sum of one piece, then doubling. Ranks beyond the
/// largest power of two pass their values on and wait for the sums.
void Communicator::HalvingAllReduce(std::span<float> values) const {
  const int ranks = static_cast<int>(std::bit_floor(static_cast<unsigned>(size())));
  const int beyond = size() - ranks;
  if (rank() >= ranks) {
    Send(std::as_bytes(values), rank() - ranks, kAllReduce);
    Copy(std::as_writable_bytes(values), rank() - ranks, kAllReduce, "all-reduce");
    return;
  }
  if (rank() < beyond) Add(values, rank() + ranks, kAllReduce, "all-reduce");
  struct Half {
    std::span<float> values;
    int64_t billed;  // elements
  };
  std::vector<Half> theirs;  // at each step
  Half mine = {values, ElementsBilled(values.size())};
  const auto send = [&](const Half& half, int to) {
    SendFor(kElement * half.billed, std::as_bytes(half.values), to, kAllReduce);
  };
  for (int bit = ranks / 2; bit > 0; bit /= 2) {
    const int64_t middle = PieceBegin(mine.billed, 1, 2);
    const Half low = {Piece(mine.values, 0, 2), middle};
    const Half high = {Piece(mine.values, 1, 2), mine.billed - middle};
    const bool upper = (rank() & bit) != 0;
    mine = upper ? high : low;
    theirs.push_back(upper ? low : high);
    send(theirs.back(), rank() ^ bit);
    Add(mine.values, rank() ^ bit, kAllReduce, "all-reduce");
  }
  for (int bit = 1; bit < ranks; bit *= 2) {
    const Half other = theirs.back();
    theirs.pop_back();
    send(mine, rank() ^ bit);
    Copy(std::as_writable_bytes(other.values), rank() ^ bit, kAllReduce, "all-reduce");
    mine = {{std::min(mine.values.data(), other.values.data()),
             mine.values.size() + other.values.size()},
            mine.billed + other.billed};
  }
  if (rank() < beyond) Send(std::as_bytes(values), rank() + ranks, kAllReduce);
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
  const auto share = [this](double all) {
    const auto whole = std::llround(all);
    return whole / size() + (rank() < whole % size() ? 1 : 0);
  };
  const int64_t messages = share(cost.messages), bytes = share(cost.message_bytes);
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

/// Around the ring.
std::vector<std::vector<std::byte>> Communicator::AllGather(std::span<const std::byte> mine) const {
  const int p = size();
  if (group_->transport->CollectiveIsOneEvent(p)) {
    GatherData gathering = {.mine = mine};
    JoinRing(&gathering, static_cast<double>(Billed(mine.size())), GatherData::Combine,
             "all-gather");
    return std::move(gathering.all);
  }
  std::vector<std::vector<std::byte>> all(p);
  all[rank()].assign(mine.begin(), mine.end());
  for (int s = 0; s < p - 1; ++s) {
    Send(all[(rank() - s + p) % p], (rank() + 1) % p, kGather);
    all[(rank() - s - 1 + p) % p] = Take((rank() + p - 1) % p, kGather, "all-gather").bytes;
  }
  return all;
}

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

int64_t Communicator::CountFor(const std::map<int, int64_t>& mine) const {
  using Entry = std::array<int64_t, 2>;  // rank and count
  const int p = size();
  if (group_->transport->CollectiveIsOneEvent(p)) {
    Counting counting = {.mine = mine};
    JoinRing(&counting, static_cast<double>(mine.size() * sizeof(Entry)), Counting::Combine,
             "a count");
    return counting.of_this;
  }
  std::vector<Entry> entries;
  entries.reserve(mine.size());
  for (const auto& [rank, count] : mine) entries.push_back({rank, count});
  int64_t sum = 0;
  const Communicator plain = WithScale(1);
  for (const auto& bytes : plain.AllGather(std::as_bytes(std::span(entries)))) {
    std::vector<Entry> theirs(bytes.size() / sizeof(Entry));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(theirs)).begin());
    for (const auto& [rank, count] : theirs)
      if (rank == this->rank()) sum += count;
  }
  group_->traffic += plain.traffic();
  return sum;
}

/// Dissemination: after round r a rank has heard from 2^r - 1 others.
void Communicator::Barrier() const {
  if (group_->transport->CollectiveIsOneEvent(size()))
    return JoinCollective(
        {.context = group_->context,
         .members = *group_->members,
         .rank = rank(),
         .combine = [](std::span<void* const>) {},
         .rounds = [ranks = size()](MessageRounds& rounds,
                                    double /*bytes*/) { BarrierRounds(rounds, ranks); },
         .operation = "barrier"});
  for (int distance = 1; distance < size(); distance *= 2) {
    Send({}, (rank() + distance) % size(), kBarrier);
    Copy({}, (rank() - distance + size()) % size(), kBarrier, "barrier");
  }
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
  const int p = size();
  if (group_->transport->CollectiveIsOneEvent(p)) {
    Splitting mine = {.parent = *group_->members, .color = color, .key = key};
    JoinRing(&mine, 2 * sizeof(int), Splitting::Combine, "a split");
    return Open(NextContext(static_cast<uint64_t>(color) + 1), std::move(mine.members));
  }
  std::vector<std::array<int, 2>> said(p);
  said[rank()] = {color, key};
  const auto of = [&](int i) { return std::as_writable_bytes(std::span(&said[(i + p) % p], 1)); };
  for (int s = 0; s < p - 1; ++s) {
    const std::span<const std::byte> next = of(rank() - s);
    SendFor(static_cast<int64_t>(next.size()), next, (rank() + 1) % p, kGather);
    Copy(of(rank() - s - 1), (rank() + p - 1) % p, kGather, "all-gather");
  }
  std::vector<std::pair<int, int>> same;  // key, rank
  for (int i = 0; i < p; ++i)
    if (said[i][0] == color) same.emplace_back(said[i][1], i);
  const uint64_t context = NextContext(static_cast<uint64_t>(color) + 1);
  return Open(context,
              group_->transport->Share(context, OneColor(std::move(same), *group_->members)));
}

}  // namespace yoke
