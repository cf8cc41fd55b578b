// LayerList: layers in the order of [[model.layer]] tables with the shapes between them, for both
// import and export of ONNX.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/layer.h"
#include "model/layer_namer.h"

namespace yoke::onnx_file {

/// Name of the model's input in a layer's inputs.
inline constexpr const char* kDataName = "data";

struct ListedLayer {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;  ///< Names of earlier layers, or "data".
  Options options;
  Shape output;
  std::vector<ParamSpec> params;
  bool loss = false;
};

class LayerList {
 public:
  explicit LayerList(Edge input) : input_(input) {}

  /// Appends the layer described by a table (`type`, `name`, `inputs`, options). Throws UserError.
  const ListedLayer& Add(const Value& table);

  const std::vector<ListedLayer>& layers() const { return layers_; }
  const ListedLayer& Find(const std::string& name) const { return layers_[places_.at(name)]; }
  bool Has(const std::string& name) const { return places_.contains(name); }
  /// Output shape of a layer, or of "data", for one example.
  Shape ShapeOf(const std::string& name) const { return EdgeOf(name).shape; }

 private:
  Edge EdgeOf(const std::string& name) const;
  std::vector<std::string> InputsOf(const Value& table) const;

  Edge input_;
  std::vector<ListedLayer> layers_;
  std::map<std::string, size_t> places_;
  LayerNamer namer_;
};

}  // namespace yoke::onnx_file
