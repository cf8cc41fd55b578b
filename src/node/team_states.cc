// TeamStates: copies tensor by tensor, as a checkpoint would.
#include "node/team_states.h"

#include <cstring>

namespace yoke {

TeamStates::TeamStates(const Graph& graph, int teams) : graph_(graph) {
  for (int team = 1; team < teams; ++team) others_.push_back(graph.MakeStates());
}

void TeamStates::Follow(LayerStates* first) {
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

}  // namespace yoke
