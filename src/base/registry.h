// Registry: finds a part (layer, rule, format, ...) in its list by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/options.h"

namespace yoke {

/// Finds an entry by its `name`, or throws UserError with the known names and the nearest one.
/// `kind` names the entries in the message ("layer").
template <typename Entry>
const Entry& FindEntry(const std::vector<Entry>& entries, std::string_view kind,
                       std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  throw UserError(UnknownName(kind, name, known));
}

}  // namespace yoke
