// Layers with several inputs: checks, and a list of all inputs.
#include "model/layers/joined.h"

#include "base/check.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {

void RequireAllDense(const LayerContext& context, std::string_view type) {
  RequireDense(context, type);
  for (const Edge& other : context.others)
    Require(!other.sparse && !other.active, "layer '{}' ({}) takes dense inputs only", context.name,
            type);
}

std::unique_ptr<LayerPlan> LikeTheFirst(
    const PlanRequest& request,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make) {
  return ConvertInput(request, {.type = request.input.type, .layout = request.input.layout}, make);
}

void Gather(const Tensor& first, std::span<const Tensor> others, std::vector<Tensor>& all) {
  all.assign(1, first);
  all.insert(all.end(), others.begin(), others.end());
}

}  // namespace yoke::layer
