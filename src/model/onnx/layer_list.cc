// LayerList: makes each layer to learn its shapes, then discards it.
#include "model/onnx/layer_list.h"

#include <utility>

#include "base/check.h"
#include "base/registry.h"

namespace yoke::onnx_file {

Edge LayerList::EdgeOf(const std::string& name) const {
  return name == kDataName ? input_ : Edge{.shape = Find(name).output};
}

std::vector<std::string> LayerList::InputsOf(const Value& table) const {
  std::vector<std::string> names;
  if (const Value* inputs = table.Find("inputs")) {
    for (const Value& input : *inputs->AsList()) names.push_back(*input.AsString());
    return names;
  }
  for (size_t i = layers_.size(); i-- > 0;)
    if (!layers_[i].loss) return {layers_[i].name};
  return {kDataName};
}

const ListedLayer& LayerList::Add(const Value& table) {
  ListedLayer listed{.name = {}, .type = *table.Find("type")->AsString()};
  const LayerEntry& entry = FindEntry(yoke::layers(), "layer", listed.type);
  const Value* name = table.Find("name");
  listed.name = namer_.Name(listed.type, name ? *name->AsString() : "");
  listed.inputs = InputsOf(table);
  Value options = table;
  for (const char* key : {"type", "name", "inputs"}) options.Erase(key);
  listed.options = Options(listed.name, options, entry.options);
  LayerContext context{.name = listed.name, .input = EdgeOf(listed.inputs[0])};
  for (size_t i = 1; i < listed.inputs.size(); ++i)
    context.others.push_back(EdgeOf(listed.inputs[i]));
  const std::unique_ptr<Layer> layer = entry.make(listed.options, context);
  listed.output = layer->Output().shape;
  listed.params = layer->Params();
  listed.loss = entry.loss.has_value();
  places_[listed.name] = layers_.size();
  return layers_.emplace_back(std::move(listed));
}

}  // namespace yoke::onnx_file
