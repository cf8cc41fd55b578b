// Saved state: lists what a strategy saves in a checkpoint (Strategy::State and Tensors).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/value.h"
#include "strategy/strategy.h"

namespace yoke::strategy {

/// Lists an array for Tensors, unless it is empty.
inline void Save(std::vector<Strategy::SavedTensor>& saved, const std::string& name,
                 std::vector<float>& values) {
  if (!values.empty()) saved.push_back({name, OnHost(std::span(values))});
}
inline void Save(std::vector<Strategy::SavedTensor>& saved, const std::string& name,
                 const Buffer& buffer) {
  if (buffer.bytes() > 0) saved.push_back({name, AllOf<float>(buffer)});
}

}  // namespace yoke::strategy
