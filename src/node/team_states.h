// TeamStates: the layers' state (hash tables), one copy for each team that computes concurrently.
#pragma once

#include <vector>

#include "model/graph.h"

namespace yoke {

/// Layers change their state in every pass (rows are hashed into tables, tables are swapped), so
/// two teams cannot share it. The first team uses the model's own state, which checkpoints save.
/// The others start as copies and stay equal without exchange, because a rebuild depends only on
/// weights, seed and step, which are the same for all. Rows moved one by one (rehash_touched) move
/// only in the tables of the team that touched them.
class TeamStates {
 public:
  TeamStates(const Graph& graph, int teams);
  /// Call before each step. `first` is the model's own state, or null. Copies it on the first call
  /// and after Renew.
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
