// Dealer: deals the steps of a simulation of times, from a counter: nobody is asked by a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "strategy/strategy.h"

namespace yoke {

/// Of one world. All ranks call it, one at a time.
class Dealer {
 public:
  /// `done`: steps done in earlier worlds.
  Dealer(const Roles& roles, int ranks, int64_t done)
      : roles_(roles),
        team_steps_(roles.workers / roles.team),
        team_done_(team_steps_.size()),
        asked_(ranks),
        rank_done_(ranks),
        rank_alone_(ranks),
        next_(done),
        done_(done) {}

  /// Opens a round with steps up to `last`, when all ranks have left the one before.
  void Open(int64_t last) {
    last_ = last;
    for (auto& dealt : team_steps_) dealt.clear();
    std::ranges::fill(asked_, 0);
  }

  /// The next step of this rank, which is that of its whole team. Negative: none is left, or the
  /// round is over().
  template <typename Over>
  int64_t Next(int rank, const Over& over) {
    if (rank < roles_.servers) return -1;
    if (roles_.team == 1) return next_ < last_ && !over() ? next_++ : -1;
    std::vector<int64_t>& dealt = team_steps_[TeamOf(rank)];
    const size_t which = asked_[rank]++;
    if (which == dealt.size()) dealt.push_back(next_ < last_ && !over() ? next_++ : -1);
    return dealt[which];
  }

  /// A rank has ended a step, and `exchanged` with others in it. Its team has, when the first of it
  /// has.
  void Ended(int rank, bool exchanged) {
    ++ranks_done_;
    rank_alone_[rank] = exchanged ? 0 : rank_alone_[rank] + 1;
    if (++rank_done_[rank] <= team_done_[TeamOf(rank)]) return;
    ++team_done_[TeamOf(rank)];
    ++done_;
  }

  int64_t dealt() const { return next_; }
  int64_t done() const { return done_; }  ///< Steps ended by a rank.
  /// Of this world, counted for each rank; and those of one rank since it last exchanged.
  int64_t ranks_done() const { return ranks_done_; }
  int64_t alone(int rank) const { return rank_alone_[rank]; }

 private:
  size_t TeamOf(int rank) const { return (rank - roles_.servers) / roles_.team; }

  Roles roles_;
  std::vector<std::vector<int64_t>> team_steps_;  // by team
  std::vector<int64_t> team_done_;                // by team
  std::vector<size_t> asked_;                     // by rank
  std::vector<int64_t> rank_done_;                // by rank
  std::vector<int64_t> rank_alone_;               // by rank: since it has exchanged
  int64_t ranks_done_ = 0;
  int64_t next_, done_;
  int64_t last_ = 0;
};

}  // namespace yoke
