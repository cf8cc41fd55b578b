// Kept: reads and lists what a strategy keeps in a checkpoint (Strategy::State and Tensors).
#pragma once

#include <string>
#include <vector>

#include "strategy/strategy.h"

namespace yoke::strategy {

/// Takes a value of State; one that is missing or of another type leaves `into` as it is.
inline void ReadKept(const Value& state, const char* key, int64_t& into) {
  if (const Value* value = state.Find(key); value && value->AsInt()) into = *value->AsInt();
}
inline void ReadKept(const Value& state, const char* key, double& into) {
  if (const Value* value = state.Find(key); value && value->AsFloat()) into = *value->AsFloat();
}
inline void ReadKept(const Value& state, const char* key, bool& into) {
  if (const Value* value = state.Find(key); value && value->AsBool()) into = *value->AsBool();
}

/// Lists an array for Tensors, unless it is empty.
inline void Keep(std::vector<Strategy::KeptTensor>& kept, const std::string& name,
                 std::vector<float>& values) {
  if (!values.empty()) kept.push_back({name, values.data(), static_cast<int64_t>(values.size())});
}

}  // namespace yoke::strategy
