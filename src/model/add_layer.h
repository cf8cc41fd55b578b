// AddLayer: layers of a program's own, which its jobs then name in [[model.layer]] as they name
// ours.
#pragma once

#include "model/layer.h"

namespace yoke {

/// Adds a layer to layers(), or replaces an own one of that name; before jobs name it, and while
/// none that does runs. Throws UserError for a name of ours.
void AddLayer(LayerEntry entry);

}  // namespace yoke
