// Devices by name; devices.def once as declarations, once as the table.
#include "tensor/devices.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace yoke {

namespace device {
#define YOKE_DEVICE(name) DeviceEntry name();
#include "tensor/devices.def"
#undef YOKE_DEVICE
}  // namespace device

const std::vector<DeviceEntry>& device_kinds() {
  static const std::vector<DeviceEntry> entries = {
#define YOKE_DEVICE(name) device::name(),
#include "tensor/devices.def"
#undef YOKE_DEVICE
  };
  return entries;
}

namespace {

/// The number in the name of a device of this kind.
std::optional<int> NumberIn(const std::string& name, const DeviceEntry& kind) {
  if (!kind.numbered) return name == kind.name ? std::optional(0) : std::nullopt;
  const std::string begin = kind.name + ":";
  if (!name.starts_with(begin)) return {};
  int number = -1;
  const char* const end = name.data() + name.size();
  const auto [stop, failure] = std::from_chars(name.data() + begin.size(), end, number);
  if (failure != std::errc() || stop != end || number < 0) return {};
  if (name != begin + std::to_string(number)) return {};  // "emulated:00"
  return number;
}

/// "all, cpu or emulated:0"
std::string Expected() {
  std::string names = "all";
  for (const DeviceEntry& kind : device_kinds()) {
    names += &kind == &device_kinds().back() ? " or " : ", ";
    names += kind.name + (kind.numbered ? ":0" : "");
  }
  return names;
}

}  // namespace

Devices::Devices(const std::vector<std::string>& names, const std::string& where,
                 const DeviceSettings& settings) {
  Require(!names.empty(), "{}: expected a device: {}", where, Expected());
  Require(names.size() == 1 || std::ranges::find(names, "all") == names.end(),
          "{}: \"all\" stands alone", where);
  if (names[0] == "all")
    for (const DeviceEntry& kind : device_kinds())
      for (int number = 0; kind.chosen_by_all && number < kind.count(); ++number)
        Add(kind.make(number, settings));
  for (const std::string& name : names) {
    Require(std::ranges::count(names, name) == 1, "{}: {} occurs twice", where, name);
    const size_t before = all_.size();
    for (const DeviceEntry& kind : device_kinds())
      if (const std::optional<int> number = NumberIn(name, kind)) Add(kind.make(*number, settings));
    Require(name == "all" || all_.size() > before, "{}: there is no device '{}': expected {}",
            where, name, Expected());
  }
}

void Devices::Add(std::shared_ptr<Device> device) {
  all_.push_back(owned_.emplace_back(std::move(device)).get());
}

std::vector<std::string> Devices::names() const {
  std::vector<std::string> names;
  for (const Device* device : all_) names.push_back(device->name());
  return names;
}

}  // namespace yoke
