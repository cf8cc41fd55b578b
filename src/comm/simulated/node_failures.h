// Losses: the lives of a simulation's nodes, and the worlds that their deaths leave.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "comm/simulated.h"

namespace yoke {

/// Each world has ranks 0, 1, ...; functions that take a rank mean that of the current world. A
/// rank whose body has returned has ended, and nothing happens to it any more.
class Losses {
 public:
  explicit Losses(const SimulatedRanks& options);

  int size() const { return static_cast<int>(first_.size()); }
  /// The rank's number in the first world.
  int First(int rank) const { return first_[rank]; }
  bool Dead(int rank) const { return dead_[rank]; }
  /// Seconds that each byte between the nodes of two ranks is on the way.
  double Latency(int from, int to) const;
  /// The others know of a death: their waits end.
  bool known() const { return known_; }

  /// The virtual time of the next death or discovery; infinity: there is none.
  double next() const { return next_; }
  enum class Event { kNothing, kDeath, kDiscovery };
  /// Lets that happen.
  Event Happen();
  void Ended(int rank) { ended_[rank] = true; }

  /// After the current world has ended at `time` without a failure: whether another follows. If so,
  /// it is the current one, and begins at begins(). Throws Error if no rank is left.
  bool Continue(double time);
  double begins() const { return begins_; }
  SimulatedPlace PlaceOf(int rank) const;

  /// A sentence on the last death.
  std::string Sentence() const;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct Node {
    double dies = 0;
    int life = 0;
    bool lost = false;
  };

  double DeathOf(int node, double born) const;
  bool Kill(int node);
  void Replace();
  void Gather();
  void Plan();

  const SimulatedRanks& options_;
  std::vector<Node> nodes_;
  std::vector<int> first_;
  std::vector<bool> dead_, ended_;  // by rank
  std::vector<int> lost_;           // ranks of the world before
  int lost_nodes_ = 0;
  int world_ = 0;
  double begins_ = 0;
  double known_at_ = 0;  // when the first death of this world is; infinity: there is none
  bool known_ = false;
  double next_ = 0;
  int last_node_ = -1;  // that died
  double last_death_ = 0;
};

}  // namespace yoke
