// Small helpers for layers: tensors of edges, aligned memory, common options.
#pragma once

#include <string>

#include "base/algorithms.h"
#include "model/layer.h"

namespace yoke::layer {

/// `bytes` rounded up to a multiple of 64, so that the memory after it is aligned.
inline int64_t Aligned(int64_t bytes) { return RoundUp(bytes, 64); }

inline void* Advance(void* memory, int64_t bytes) {
  return memory ? static_cast<char*>(memory) + bytes : nullptr;
}

/// The tensor of an edge for a whole batch, without data.
inline Tensor BatchTensor(const Edge& edge, int64_t batch) {
  return {.shape = edge.shape.Batched(batch), .type = edge.type, .layout = edge.layout};
}

/// Throws UserError if the input is sparse.
void RequireDense(const LayerContext& context, std::string_view type);

/// Throws UserError unless the input is an image [channels, height, width].
void RequireImage(const LayerContext& context, std::string_view type);

/// The option `name`, whose value is the name of an initializer.
OptionSpec InitializerOption(const std::string& name, const std::string& fallback,
                             const std::string& help);

/// An option that counts: at least 1, at most kMostCount; required if it has no fallback.
OptionSpec CountOption(const std::string& name, Value fallback, const std::string& help);

/// Cost of `operations` per element on `elements` f32, forward and backward.
inline Cost Elementwise(int64_t elements, double operations) {
  return {.operations = operations * static_cast<double>(elements),
          .bytes = 16.0 * static_cast<double>(elements)};
}

}  // namespace yoke::layer
