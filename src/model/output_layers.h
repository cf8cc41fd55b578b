// OutputLayers: the layers of a list whose outputs are scores, which other classes replace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/graph.h"

namespace yoke {

/// What a layer computes if it is a loss.
std::optional<LossFunction> LossOf(const Value& layer);
/// Indices of these layers: before each loss, and before the end, the last one with weights.
std::vector<size_t> OutputLayers(const List& layers);
/// Their names in a graph.
std::vector<std::string> OutputLayerNames(const List& layers);
/// Gives them so many outputs.
void SizeOutputs(List& layers, int64_t outputs);
/// Throws UserError unless the model `start`, from which training starts, `has` the outputs of a
/// task.
void RequireSameOutputs(const std::string& start, int64_t has, const ModelTask& task);
/// Whether a parameter ("linear2.weight") is of one of the layers `names`.
bool IsOf(const std::string& parameter, const std::vector<std::string>& names);

}  // namespace yoke
