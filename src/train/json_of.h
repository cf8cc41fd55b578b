// JsonOf: a tree of values as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/value.h"

namespace yoke {

/// An empty value becomes null.
nlohmann::ordered_json JsonOf(const Value& value);

}  // namespace yoke
