// Devices by name; devices.def once as declarations, once as the table.
#include "tensor/devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
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

/// The kind of the device with this name; null: there is none.
const DeviceEntry* KindOf(const std::string& name) {
  const auto kind = std::ranges::find_if(device_kinds(), [&name](const DeviceEntry& each) {
    return NumberIn(name, each).has_value();
  });
  return kind == device_kinds().end() ? nullptr : &*kind;
}

/// The devices that "all" stands for.
std::vector<std::string> OfThisMachine() {
  std::vector<std::string> names;
  for (const DeviceEntry& kind : device_kinds()) {
    if (!kind.chosen_by_all) continue;
    for (const int number : kind.usable())
      names.push_back(kind.numbered ? fmt::format("{}:{}", kind.name, number) : kind.name);
  }
  return names;
}

/// Whether a rank takes the one at this place among so many that the ranks share.
bool Takes(const LocalRank& rank, int64_t place, int64_t count, bool several) {
  const int64_t begin = rank.rank * count / rank.size, end = (rank.rank + 1) * count / rank.size;
  return place == begin || (several && place > begin && place < end);
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

std::vector<std::string> DeviceNames(const std::vector<std::string>& names,
                                     const std::string& where) {
  Require(!names.empty(), "{}: expected a device: {}", where, Expected());
  Require(names.size() == 1 || std::ranges::find(names, "all") == names.end(),
          "{}: \"all\" stands alone", where);
  if (names[0] == "all") return OfThisMachine();
  for (const std::string& name : names) {
    Require(std::ranges::count(names, name) == 1, "{}: {} occurs twice", where, name);
    Require(KindOf(name), "{}: there is no device '{}': expected {}", where, name, Expected());
  }
  return names;
}

std::vector<std::string> ShareOf(const std::vector<std::string>& names, const LocalRank& rank,
                                 bool several) {
  std::map<const DeviceEntry*, int64_t> counts, places;
  for (const std::string& name : names) ++counts[KindOf(name)];
  std::vector<std::string> share;
  for (const std::string& name : names) {
    const DeviceEntry* const kind = KindOf(name);
    const int64_t place = places[kind]++;
    if (!kind->numbered || rank.size == 1 || Takes(rank, place, counts[kind], several))
      share.push_back(name);
  }
  return share;
}

DeviceShares SharesOf(const std::vector<std::string>& names, int ranks, bool several) {
  std::map<std::string, int> users;
  for (int rank = 0; rank < ranks; ++rank)
    for (const std::string& name : ShareOf(names, {.rank = rank, .size = ranks}, several))
      ++users[name];
  DeviceShares shares;
  for (const std::string& name : names) {
    (users[name] > 0 ? shares.used : shares.idle).push_back(name);
    shares.shared |= users[name] > 1 && KindOf(name)->numbered;
  }
  return shares;
}

std::string_view AsFastAs(std::string_view name) {
  const DeviceEntry* const kind = KindOf(std::string(name));
  return kind && kind->as_fast_as ? kind->as_fast_as : name;
}

std::vector<std::string> AskedDevices() {
  const char* asked = std::getenv("YOKE_DEVICES");
  std::istringstream text(asked ? asked : "");
  std::vector<std::string> names;
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

std::string HowToUseTheCpu() {
  return AskedDevices().empty() ? "set node.devices = \"cpu\""
                                : "unset the environment variable YOKE_DEVICES";
}

Devices::Devices(const std::vector<std::string>& names, const std::string& where,
                 const DeviceSettings& settings) {
  for (const std::string& name : DeviceNames(names, where)) {
    const DeviceEntry& kind = *KindOf(name);
    Add(kind.make(*NumberIn(name, kind), settings));
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
