// Helpers that layers share.
#include "model/layers/support.h"

#include <utility>

#include "base/check.h"

namespace yoke::layer {

void RequireDense(const LayerContext& context, std::string_view type) {
  Require(!context.input.sparse,
          "layer '{}' ({}) needs dense input, but the data is sparse: start with a sparse_linear "
          "layer",
          context.name, type);
  Require(!context.input.active,
          "layer '{}' ({}) needs dense input, but the layer below gives active sets: only a relu, "
          "another lsh_linear or a loss may stand on lsh_linear",
          context.name, type);
}

void RequireImage(const LayerContext& context, std::string_view type) {
  RequireDense(context, type);
  Require(context.input.shape.rank() == 3,
          "layer '{}' ({}) needs an image [channels, height, width], but its input is {}",
          context.name, type, context.input.shape.Text());
}

OptionSpec InitializerOption(const std::string& name, const std::string& fallback,
                             const std::string& help) {
  OptionSpec spec{.name = name, .type = OptionType::kString, .fallback = fallback, .help = help};
  for (const InitializerEntry& entry : initializers()) spec.choices.push_back(entry.name);
  return spec;
}

OptionSpec CountOption(const std::string& name, Value fallback, const std::string& help) {
  const bool required = fallback.IsNone();
  return {.name = name,
          .type = OptionType::kInt,
          .fallback = std::move(fallback),
          .help = help,
          .minimum = 1,
          .maximum = kMostCount,
          .required = required};
}

}  // namespace yoke::layer
