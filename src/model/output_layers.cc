// OutputLayers: found by the types of the layers.
#include "model/output_layers.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace yoke {
namespace {

bool IsOneOf(const Value& layer, const std::vector<std::string_view>& types) {
  const Value* type = layer.Find("type");
  return type && type->AsString() && std::ranges::count(types, *type->AsString()) > 0;
}

bool HasWeights(const Value& layer) {
  return IsOneOf(layer, {"linear", "sparse_linear", "lsh_linear", "convolution"});
}

}  // namespace

std::optional<LossFunction> LossOf(const Value& layer) {
  const Value* type = layer.Find("type");
  if (!type || !type->AsString()) return std::nullopt;
  const auto entry = std::ranges::find(layers(), *type->AsString(), &LayerEntry::name);
  return entry == layers().end() ? std::nullopt : entry->loss;
}

std::vector<size_t> OutputLayers(const List& layers) {
  std::vector<size_t> found;
  std::optional<size_t> last;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (HasWeights(layers[i])) last = i;
    if (last && (LossOf(layers[i]) || i + 1 == layers.size())) found.push_back(*last);
  }
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> OutputLayerNames(const List& layers) {
  const std::vector<std::string> all = LayerNames(layers);
  std::vector<std::string> names;
  for (const size_t i : OutputLayers(layers))
    if (i < all.size()) names.push_back(all[i]);
  return names;
}

void SizeOutputs(List& layers, int64_t outputs) {
  for (const size_t i : OutputLayers(layers)) layers[i].Set("outputs", outputs);
}

void RequireSameOutputs(const std::string& start, int64_t has, const ModelTask& task) {
  Require(has == task.outputs,
          "model.start: {} has {} {}, and the data has {}: model.replace_head = true draws its "
          "output layer anew for these",
          start, has, task.Kind(), task.outputs);
}

bool IsOf(const std::string& parameter, const std::vector<std::string>& names) {
  return std::ranges::count(names, parameter.substr(0, parameter.rfind('.'))) > 0;
}

}  // namespace yoke
