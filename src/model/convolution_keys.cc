// Convolution keys: set in the tables of layers, and chosen anew.
#include "model/convolution_keys.h"

#include <algorithm>

#include "base/check.h"
#include "base/options.h"
#include "model/graph.h"

namespace yoke {
namespace {

/// Of a convolution by lower_batch; of [model] for all of these without their own.
constexpr const char* kLoweringKeys[] = {"partitions", "lowered_images"};

/// The table of the layer of this name, or null.
Value* LayerNamed(const std::string& name, List& layers) {
  const std::vector<std::string> names = LayerNames(layers);
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? nullptr : &layers[at - names.begin()];
}

/// Sets the algorithm of each convolution that `algorithms` names, checked like the layer's own
/// option.
void SetAlgorithms(const Value& algorithms, List& layers) {
  Require(algorithms.AsTable(), "{}: model.algorithms must be a table of layers and algorithms",
          algorithms.place());
  for (const auto& [name, algorithm] : *algorithms.AsTable()) {
    Value* layer = LayerNamed(name, layers);
    const OptionSpec* option = layer ? AlgorithmOption(*layer) : nullptr;
    Require(option,
            "{}: model.algorithms names '{}', which is no layer of this model with an algorithm",
            algorithm.place(), name);
    OptionSpec named = *option;
    named.name = name;
    layer->Set("algorithm", algorithm);
    Options("model.algorithms", Table{{name, algorithm}}, std::vector{named});
  }
}

bool IsLowerBatch(const Value* algorithm) {
  return algorithm && algorithm->AsString() && *algorithm->AsString() == "lower_batch";
}

bool LowersBatch(const Value& layer) { return IsLowerBatch(layer.Find("algorithm")); }

/// Gives a convolution by lower_batch [model]'s value unless it has its own; returns whether it
/// did.
bool GiveLowering(const std::string& key, const Value* of_all, Value& layer) {
  if (!of_all || layer.Find(key) || !LowersBatch(layer)) return false;
  layer.Set(key, *of_all);
  return true;
}

void SetLowering(const std::string& key, const Value* of_all, List& layers) {
  bool used = false;
  for (Value& layer : layers) {
    if (const Value* own = layer.Find(key))
      Require(LowersBatch(layer),
              "{}: {} has no effect: the layer's algorithm is not \"lower_batch\"", own->place(),
              key);
    used = GiveLowering(key, of_all, layer) || used;
  }
  if (!of_all || used) return;
  const char* why = std::ranges::any_of(layers, LowersBatch)
                        ? "each convolution with the algorithm \"lower_batch\" has its own"
                        : "no convolution has the algorithm \"lower_batch\" (model.algorithms)";
  throw UserError(fmt::format("{}: model.{} has no effect: {}", of_all->place(), key, why));
}

/// Erases this key where it has no effect with these algorithms.
void KeepWhereUsed(const std::string& key, const Table& algorithms, Value& model) {
  Value* tables = model.Find("layer");
  bool used = false;
  for (const auto& [name, algorithm] : algorithms) {
    Value* layer = tables ? LayerNamed(name, *tables->AsList()) : nullptr;
    if (IsLowerBatch(&algorithm))
      used = used || !layer || !layer->Find(key);
    else if (layer)
      layer->Erase(key);
  }
  if (!used) model.Erase(key);
}

}  // namespace

Value WithoutConvolutionKeys(Value model_section) {
  model_section.Erase("algorithms");
  for (const char* key : kLoweringKeys) model_section.Erase(key);
  return model_section;
}

void SetConvolutionKeys(const Value& model_section, List& layers) {
  if (const Value* algorithms = model_section.Find("algorithms"))
    SetAlgorithms(*algorithms, layers);
  for (const char* key : kLoweringKeys) SetLowering(key, model_section.Find(key), layers);
}

Value WithAlgorithm(Value layer, const std::string& algorithm, const Value& model_section) {
  layer.Set("algorithm", algorithm);
  for (const char* key : kLoweringKeys) GiveLowering(key, model_section.Find(key), layer);
  return layer;
}

Value WithAlgorithms(Value model_section, const Table& algorithms) {
  model_section.Set("algorithms", algorithms);
  for (const char* key : kLoweringKeys) KeepWhereUsed(key, algorithms, model_section);
  return model_section;
}

}  // namespace yoke
