// Kept: lists what a strategy keeps in a checkpoint (Strategy::State and Tensors).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/kept.h"
#include "strategy/strategy.h"

namespace yoke::strategy {

/// Lists an array for Tensors, unless it is empty.
inline void Keep(std::vector<Strategy::KeptTensor>& kept, const std::string& name,
                 std::vector<float>& values) {
  if (!values.empty()) kept.push_back({name, OnHost(std::span(values))});
}
inline void Keep(std::vector<Strategy::KeptTensor>& kept, const std::string& name,
                 const Buffer& buffer) {
  if (buffer.bytes() > 0) kept.push_back({name, AllOf<float>(buffer)});
}

}  // namespace yoke::strategy
