// TeamStates: the layers' state (hash tables), one copy for each team that computes concurrently.
#pragma once

#include <cstring>
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
  TeamStates(const Graph& graph, int teams) : graph_(graph) {
    for (int team = 1; team < teams; ++team) others_.push_back(graph.MakeStates());
  }
  /// Call before each step. `first` is the model's own state, or null. Copies it on the first call
  /// and after Renew, tensor by tensor, as a checkpoint would.
  void Follow(LayerStates* first) {
    first_ = first;
    if (!first || copied_) return;
    copied_ = true;
    const std::vector<StateTensor> from = graph_.StateTensors(*first);
    for (LayerStates& states : others_) {
      const std::vector<StateTensor> to = graph_.StateTensors(states);
      for (size_t i = 0; i < to.size(); ++i)
        std::memcpy(to[i].data, from[i].data, to[i].shape.Count() * SizeOf(to[i].type));
      for (size_t node = 0; node < states.size(); ++node)
        if (LayerState* state = states.of(node)) state->Restored();
    }
  }
  void Renew() { copied_ = false; }
  LayerStates* of(int team) { return team == 0 || !first_ ? first_ : &others_[team - 1]; }

 private:
  const Graph& graph_;
  std::vector<LayerStates> others_;
  LayerStates* first_ = nullptr;
  bool copied_ = false;
};

}  // namespace yoke
