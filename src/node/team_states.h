// TeamStates: what layers keep from step to step (hash tables), once for each team that computes at
// the same time.
#pragma once

#include <vector>

#include "model/graph.h"

namespace yoke {

/// Layers change their state in every pass (rows are hashed into tables, tables are exchanged), so
/// that two teams cannot share one. The first team uses the model's own, which checkpoints hold;
/// the others begin as copies of it and follow by themselves: what a rebuild puts into tables
/// depends on weights, seed and step, which are the same for all. Rows moved one by one
/// (rehash_touched) move in the tables of the team that touched them.
class TeamStates {
 public:
  TeamStates(const Graph& graph, int teams);
  /// Before a step: `first` is the model's own state, or null. Copies it when `Renew` was called
  /// since the last time, or never.
  void Follow(LayerStates* first);
  void Renew() { copied_ = false; }
  LayerStates* of(int team) { return team == 0 || !first_ ? first_ : &others_[team - 1]; }

 private:
  const Graph& graph_;
  std::vector<LayerStates> others_;
  LayerStates* first_ = nullptr;
  bool copied_ = false;
};

}  // namespace yoke
