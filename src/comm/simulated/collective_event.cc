// RoundTimes: ranks follow a schedule; a queue holds those whose next message is to be sent.
#include "comm/simulated/collective_event.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace yoke {

/// No message is longer than those of the first round, in which rank 0 takes part.
RoundTimes::RoundTimes(const CollectiveCall& call, double bytes, std::vector<double> come,
                       Delivery& delivery)
    : schedule_(call.schedule),
      members_(*call.members),
      delivery_(delivery),
      bytes_(bytes),
      now_(std::move(come)),
      traffic_(now_.size()) {
  if (schedule_.rounds() == 0) return;
  if (schedule_.is_ring())
    GoAround();
  else if (BytesOf(schedule_.At(0, 0).received) > SimulatedRanks::kPacket)
    SendByTime();
  else
    SendByRounds();
}

/// Where all have waited for the last one, each round takes as long as its messages: those of the
/// way around, or of the slowest link, on which a message waits for the one before.
void RoundTimes::GoAround() {
  const int ranks = schedule_.ranks(), rounds = schedule_.rounds();
  double around = 0, slowest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const CollectiveSchedule::Move move = schedule_.At(rank, 0);
    const double bytes = BytesOf(move.sent);
    const auto [seconds, busy] =
        delivery_.Uncontended(members_.World(rank), members_.World(move.to), bytes);
    around += seconds + 2 * delivery_.CopySeconds(bytes);
    slowest = std::max(slowest, busy + 2 * delivery_.CopySeconds(bytes));
    CountSent(rank, rounds, bytes);
    CountReceived(move.to, rounds, bytes);
  }
  const double end = *std::ranges::max_element(now_) + rounds * std::max(around / ranks, slowest);
  std::ranges::fill(now_, end);
}

/// Where messages book no link: a barrier of 100,000 ranks has 1.7 million.
void RoundTimes::SendByRounds() {
  const int ranks = schedule_.ranks();
  std::vector<double> arrivals(ranks);
  for (int round = 0; round < schedule_.rounds(); ++round) {
    for (int rank = 0; rank < ranks; ++rank)
      if (const CollectiveSchedule::Move move = schedule_.At(rank, round); move.to >= 0)
        arrivals[move.to] = Send(rank, move);
    for (int rank = 0; rank < ranks; ++rank)
      if (const CollectiveSchedule::Move move = schedule_.At(rank, round); move.from >= 0)
        Receive(rank, move, arrivals[rank]);
  }
}

/// Sends the messages in the order of their times, as the ranks would, so that links are booked
/// alike.
void RoundTimes::SendByTime() {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const int ranks = schedule_.ranks();
  std::vector<double> arrivals(int64_t{ranks} * schedule_.rounds(), kUnknown);
  const auto arrival_at = [&](int rank, int round) -> double& {
    return arrivals[int64_t{ranks} * round + rank];
  };
  using Entry = std::pair<double, int>;  // time and rank
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> senders;
  std::vector<int> round_of(ranks);
  std::vector<char> waits(ranks);
  // Receives what has been sent, up to the next send.
  const auto go_on = [&](int rank, bool has_sent) {
    for (int& round = round_of[rank]; round < schedule_.rounds(); ++round, has_sent = false) {
      const CollectiveSchedule::Move move = schedule_.At(rank, round);
      waits[rank] = move.to < 0 || has_sent;
      if (!waits[rank]) return senders.emplace(now_[rank], rank);
      if (move.from < 0) continue;
      if (arrival_at(rank, round) == kUnknown) return;
      Receive(rank, move, arrival_at(rank, round));
    }
  };
  for (int rank = 0; rank < ranks; ++rank) go_on(rank, false);
  while (!senders.empty()) {
    const int from = senders.top().second, round = round_of[from];
    senders.pop();
    const CollectiveSchedule::Move move = schedule_.At(from, round);
    arrival_at(move.to, round) = Send(from, move);
    go_on(from, true);
    if (round_of[move.to] == round && waits[move.to]) go_on(move.to, true);
  }
}

/// Returns when the message arrives.
double RoundTimes::Send(int rank, const CollectiveSchedule::Move& move) {
  const double bytes = BytesOf(move.sent);
  CountSent(rank, 1, bytes);
  now_[rank] += delivery_.CopySeconds(bytes);
  return delivery_.Send(now_[rank], members_.World(rank), members_.World(move.to), bytes);
}

void RoundTimes::Receive(int rank, const CollectiveSchedule::Move& move, double arrival) {
  const double bytes = BytesOf(move.received);
  CountReceived(rank, 1, bytes);
  now_[rank] = std::max(now_[rank], arrival) + delivery_.CopySeconds(bytes);
}

void RoundTimes::CountSent(int rank, int64_t messages, double bytes) {
  traffic_[rank].messages_sent += messages;
  traffic_[rank].bytes_sent += static_cast<double>(messages) * bytes;
  traffic_[rank].seconds_sending += static_cast<double>(messages) * delivery_.CopySeconds(bytes);
}

void RoundTimes::CountReceived(int rank, int64_t messages, double bytes) {
  traffic_[rank].messages_received += messages;
  traffic_[rank].bytes_received += static_cast<double>(messages) * bytes;
}

}  // namespace yoke
