// Devices by name.
#include "tensor/devices.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace yoke {
namespace {

constexpr std::string_view kEmulated = "emulated:";

/// N of "emulated:N".
std::optional<int> EmulatedIndex(const std::string& name) {
  if (!name.starts_with(kEmulated)) return {};
  int index = -1;
  const char* const end = name.data() + name.size();
  const auto [stop, failure] = std::from_chars(name.data() + kEmulated.size(), end, index);
  if (failure != std::errc() || stop != end || index < 0) return {};
  if (name != std::string(kEmulated) + std::to_string(index)) return {};  // "emulated:00"
  return index;
}

}  // namespace

Devices::Devices(const std::vector<std::string>& names, const std::string& where,
                 EmulatedSpeed emulated) {
  Require(!names.empty(), "{}: expected a device: cpu, emulated:0", where);
  Require(names.size() == 1 || std::ranges::find(names, "all") == names.end(),
          "{}: \"all\" stands alone", where);
  for (const std::string& name : names) {
    Require(std::ranges::count(names, name) == 1, "{}: {} occurs twice", where, name);
    if (name == "all" || name == "cpu") {
      all_.push_back(&Cpu());
      continue;
    }
    const std::optional<int> index = EmulatedIndex(name);
    Require(index.has_value(), "{}: there is no device '{}': expected all, cpu or emulated:0",
            where, name);
    all_.push_back(owned_.emplace_back(NewEmulatedDevice(*index, emulated)).get());
  }
}

std::vector<std::string> Devices::names() const {
  std::vector<std::string> names;
  for (const Device* device : all_) names.push_back(device->name());
  return names;
}

}  // namespace yoke
