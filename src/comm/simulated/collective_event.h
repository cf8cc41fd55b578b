// CollectiveArrivals: the ranks that have come to a collective event in virtual time, and when each
// may leave.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "comm/collective_event.h"

namespace yoke {

/// Follows the messages of a collective event from the times at which its ranks have come.
class RoundTimes : public MessageRounds {
 public:
  /// Carries messages between world ranks.
  struct Network {
    /// When a message arrives that is sent `now`; books the links on its way.
    std::function<double(double now, int from, int to, double bytes)> send;
    /// The same time where no link is busy, from 0 on, and how long the sender's link is.
    std::function<std::pair<double, double>(int from, int to, double bytes)> uncontended;
    double copy_bytes_per_second = 0;  ///< At which both ends copy a message; 0: at once.
    double unbooked = 0;  ///< Messages of up to so many bytes book no link: any order will do.
  };

  RoundTimes(const Members& members, std::vector<double> come, const Network& network)
      : members_(members), network_(network), now_(std::move(come)), traffic_(now_.size()) {}

  void Round(std::span<const Transfer> transfers) override {
    for (const auto& [from, to, bytes] : transfers) Count(from, to, 1, bytes);
    const auto books = [this](const Transfer& each) { return each.bytes > network_.unbooked; };
    if (transfers_.empty() && std::ranges::none_of(transfers, books))
      return SimulateRound(transfers);
    transfers_.insert(transfers_.end(), transfers.begin(), transfers.end());
    ends_.push_back(transfers_.size());
  }

  /// Where all have waited for the last one, each round takes as long as its messages: those of the
  /// way around, or of the slowest link, on which a message waits for the one before.
  void Ring(int64_t rounds, double bytes) override {
    const int ranks = members_.size();
    double around = 0, slowest = 0;
    for (int from = 0; from < ranks; ++from) {
      const int to = (from + 1) % ranks;
      const auto [seconds, busy] =
          network_.uncontended(members_.World(from), members_.World(to), bytes);
      around += seconds + 2 * CopySeconds(bytes);
      slowest = std::max(slowest, busy + 2 * CopySeconds(bytes));
      Count(from, to, rounds, bytes);
    }
    const double end = *std::ranges::max_element(now_) +
                       static_cast<double>(rounds) * std::max(around / ranks, slowest);
    std::ranges::fill(now_, end);
  }

  /// After the rounds: sends the messages in the order of their times, as the ranks would, so that
  /// links are booked alike.
  void SimulateMessages();

  double end(int rank) const { return now_[rank]; }
  const CollectiveTraffic& traffic(int rank) const { return traffic_[rank]; }

 private:
  void SimulateRound(std::span<const Transfer> transfers);
  double CopySeconds(double bytes) const {
    return network_.copy_bytes_per_second > 0 ? bytes / network_.copy_bytes_per_second : 0;
  }

  void Count(int from, int to, int64_t messages, double bytes) {
    traffic_[from].messages_sent += messages;
    traffic_[from].bytes_sent += static_cast<double>(messages) * bytes;
    traffic_[from].seconds_sending += static_cast<double>(messages) * CopySeconds(bytes);
    traffic_[to].messages_received += messages;
    traffic_[to].bytes_received += static_cast<double>(messages) * bytes;
  }

  const Members& members_;
  const Network& network_;
  std::vector<double> now_;                 // by rank
  std::vector<CollectiveTraffic> traffic_;  // by rank
  std::vector<Transfer> transfers_;         // of all rounds that are not simulated yet,
  std::vector<size_t> ends_;                // and where each round ends
};

/// Of one collective event. `Task` waits, has a clock `now`, and is woken at `wake`.
template <typename Task>
struct CollectiveArrivals {
  explicit CollectiveArrivals(int ranks)
      : missing(ranks), tasks(ranks), data(ranks), come(ranks), ends(ranks), traffic(ranks) {}

  /// True for the last one.
  bool Arrive(const CollectiveCall& call, Task& task) {
    tasks[call.rank] = &task;
    data[call.rank] = call.data;
    come[call.rank] = task.now;
    bytes += call.bytes / call.members.size();
    return --missing == 0 && !broken;
  }

  int missing;
  std::vector<Task*> tasks;  // by rank
  std::vector<void*> data;
  std::vector<double> come, ends;  // when they came, and may leave
  std::vector<CollectiveTraffic> traffic;
  double bytes = 0;  // the mean of what they give
  bool complete = false;
  bool broken = false;  // one has left: it never completes
};

}  // namespace yoke
