// The list of layers: layers.def once as declarations, once as the table.
#include "model/layer.h"

namespace yoke {

namespace layer {
#define YOKE_LAYER(name) LayerEntry name();
#include "model/layers.def"
#undef YOKE_LAYER
}  // namespace layer

const std::vector<LayerEntry>& layers() {
  static const std::vector<LayerEntry> entries = {
#define YOKE_LAYER(name) layer::name(),
#include "model/layers.def"
#undef YOKE_LAYER
  };
  return entries;
}

}  // namespace yoke
