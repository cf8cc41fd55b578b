// Saved state: reads what a part has saved in a checkpoint (the State of executors and strategies).
#pragma once

#include <cstdint>

#include "base/value.h"

namespace yoke {

/// Takes a value of State; one that is missing or of another type leaves `into` as it is.
inline void ReadSaved(const Value& state, const char* key, int64_t& into) {
  if (const Value* value = state.Find(key); value && value->AsInt()) into = *value->AsInt();
}
inline void ReadSaved(const Value& state, const char* key, double& into) {
  if (const Value* value = state.Find(key); value && value->AsFloat()) into = *value->AsFloat();
}
inline void ReadSaved(const Value& state, const char* key, bool& into) {
  if (const Value* value = state.Find(key); value && value->AsBool()) into = *value->AsBool();
}

}  // namespace yoke
