// OutputSearch: what the layers of a model that have one say together.
#include "model/output_search.h"

#include "model/layer.h"

namespace yoke {

std::vector<std::string> AdviceOf(const LayerStates& states) {
  std::vector<std::string> all;
  for (size_t node = 0; node < states.size(); ++node)
    if (const auto* const search = dynamic_cast<const OutputSearch*>(states.of(node)))
      if (std::string advice = search->Advice(); !advice.empty()) all.push_back(std::move(advice));
  return all;
}

bool TablesAreReady(const LayerStates& states) {
  for (size_t node = 0; node < states.size(); ++node) {
    LayerState* const state = states.of(node);
    const auto* const search = dynamic_cast<const OutputSearch*>(state);
    if (search && !search->ready() && !state->Tensors().empty()) return false;
  }
  return true;
}

}  // namespace yoke
