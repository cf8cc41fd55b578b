// RoundTimes: each rank is a list of sends and receives; a queue holds those whose next one is a
// send.
#include "comm/simulated/collective_event.h"

#include <limits>
#include <queue>

namespace yoke {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// The transfers of each rank, in order: those of rank r are list[begin[r]] to list[begin[r + 1]].
struct Programs {
  /// `ends`: of the rounds. A rank sends before it receives in a round.
  Programs(const std::vector<MessageRounds::Transfer>& transfers, const std::vector<size_t>& ends,
           size_t ranks)
      : begin(ranks + 1), list(2 * transfers.size()) {
    for (const auto& transfer : transfers) ++begin[transfer.from + 1], ++begin[transfer.to + 1];
    for (size_t rank = 0; rank < ranks; ++rank) begin[rank + 1] += begin[rank];
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    size_t first = 0;
    for (const size_t end : ends) {
      for (size_t i = first; i < end; ++i) list[next[transfers[i].from]++] = i;
      for (size_t i = first; i < end; ++i) list[next[transfers[i].to]++] = i;
      first = end;
    }
  }

  std::vector<size_t> begin;
  std::vector<size_t> list;
};

}  // namespace

/// At once: a barrier of 100,000 ranks has 1.7 million messages.
void RoundTimes::SimulateRound(std::span<const Transfer> transfers) {
  std::vector<double> arrivals;
  arrivals.reserve(transfers.size());
  for (const auto& [from, to, bytes] : transfers) {
    now_[from] += CopySeconds(bytes);
    arrivals.push_back(network_.send(now_[from], members_.World(from), members_.World(to), bytes));
  }
  for (size_t i = 0; i < transfers.size(); ++i) {
    double& now = now_[transfers[i].to];
    now = std::max(now, arrivals[i]) + CopySeconds(transfers[i].bytes);
  }
}

void RoundTimes::SimulateMessages() {
  if (transfers_.empty()) return;
  const Programs programs(transfers_, ends_, now_.size());
  std::vector<size_t> at(programs.begin.begin(), programs.begin.end() - 1);
  std::vector<double> arrivals(transfers_.size(), kUnknown);
  using Entry = std::pair<double, int>;  // time and rank
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> senders;
  // Receives what has been sent, up to the next send.
  const auto receive = [&](int rank) {
    for (; at[rank] < programs.begin[rank + 1]; ++at[rank]) {
      const size_t i = programs.list[at[rank]];
      if (transfers_[i].from == rank) {
        senders.emplace(now_[rank], rank);
        return;
      }
      if (arrivals[i] == kUnknown) return;
      now_[rank] = std::max(now_[rank], arrivals[i]) + CopySeconds(transfers_[i].bytes);
    }
  };
  for (int rank = 0; rank < members_.size(); ++rank) receive(rank);
  while (!senders.empty()) {
    const int from = senders.top().second;
    senders.pop();
    const size_t i = programs.list[at[from]++];
    const auto& [of, to, bytes] = transfers_[i];
    now_[from] += CopySeconds(bytes);
    arrivals[i] = network_.send(now_[from], members_.World(from), members_.World(to), bytes);
    receive(from);
    const size_t next = at[to];
    if (next < programs.begin[to + 1] && programs.list[next] == i) receive(to);
  }
}

}  // namespace yoke
