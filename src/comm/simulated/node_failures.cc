// Losses: one death or discovery after the other.
#include "comm/simulated/node_failures.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "comm/simulated/network_model.h"

namespace yoke {
Losses::Losses(const SimulatedRanks& options)
    : options_(options), first_(options.ranks), known_at_(kNever), next_(kNever) {
  std::iota(first_.begin(), first_.end(), 0);
  dead_.resize(first_.size());
  ended_.resize(first_.size());
  if (!options.failures.death) return;
  nodes_.resize(options.Nodes());
  for (int node = 0; node < options.Nodes(); ++node) nodes_[node].dies = DeathOf(node, 0);
  Plan();
}

double Losses::Latency(int from, int to) const {
  return PathBetween(options_, options_.NodeOf(First(from)), options_.NodeOf(First(to))).latency;
}

double Losses::DeathOf(int node, double born) const {
  return options_.failures.death(node, nodes_[node].life, born);
}

/// Looks for the next event.
void Losses::Plan() {
  next_ = known_ ? kNever : known_at_;
  for (const Node& node : nodes_) next_ = std::min(next_, node.dies);
}

/// Of equal times the nodes die in their order, and before anybody knows.
Losses::Event Losses::Happen() {
  const auto first = std::ranges::min_element(nodes_, {}, &Node::dies);
  Event event = Event::kDiscovery;
  if (first->dies <= next_)
    event = Kill(static_cast<int>(first - nodes_.begin())) ? Event::kDeath : Event::kNothing;
  else
    known_ = true;
  Plan();
  return event;
}

/// False if all ranks of the node have ended, or none is in this world.
bool Losses::Kill(int node) {
  const double time = std::exchange(nodes_[node].dies, kNever);
  bool any = false;
  for (int rank = 0; rank < size(); ++rank)
    if (options_.NodeOf(First(rank)) == node && !ended_[rank]) any = dead_[rank] = true;
  if (!any) return false;
  nodes_[node].lost = true;
  ++lost_nodes_;
  last_node_ = node;
  last_death_ = time;
  known_at_ = std::min(known_at_, time + options_.failures.detection);
  return true;
}

bool Losses::Continue(double time) {
  if (known_at_ == kNever) return false;  // nobody was lost
  if (std::ranges::find(ended_, true) != ended_.end()) return false;
  const bool all = std::ranges::find(dead_, false) == dead_.end();
  if (all && !options_.failures.replace)
    throw Error(
        fmt::format("no node of the simulated cluster is left: all {} have died, the last "
                    "one after {:.3g} virtual seconds",
                    options_.Nodes(), last_death_));
  begins_ = std::max(time, known_at_) + options_.failures.restart;
  Gather();
  if (options_.failures.replace) Replace();
  for (Node& node : nodes_) node.lost = false;
  dead_.assign(first_.size(), false);
  ended_.assign(first_.size(), false);
  known_ = false;
  known_at_ = kNever;
  ++world_;
  Plan();
  return true;
}

/// Keeps the survivors.
void Losses::Gather() {
  lost_.clear();
  std::vector<int> left;
  for (int rank = 0; rank < size(); ++rank)
    if (dead_[rank])
      lost_.push_back(rank);
    else
      left.push_back(first_[rank]);
  first_ = std::move(left);
}

/// All ranks are there again. The new nodes live from the beginning of the world.
void Losses::Replace() {
  first_.resize(options_.ranks);
  std::iota(first_.begin(), first_.end(), 0);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].lost) continue;
    ++nodes_[node].life;
    nodes_[node].dies = DeathOf(static_cast<int>(node), begins_);
  }
}

SimulatedPlace Losses::PlaceOf(int rank) const {
  return {.world = world_, .rank = First(rank), .lost = lost_, .lost_nodes = lost_nodes_};
}

std::string Losses::Sentence() const {
  return fmt::format("node {} (from 0) of the simulated cluster died after {:.3g} virtual seconds",
                     last_node_, last_death_);
}

}  // namespace yoke
