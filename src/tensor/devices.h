// Devices: the kinds that there are, and those that a job names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/topology.h"
#include "tensor/device.h"
#include "tensor/emulated.h"

namespace yoke {

/// What a job says of devices besides their names.
struct DeviceSettings {
  EmulatedSpeed emulated = {};
};

/// A kind of device. A job names one by the kind's name, or, if there are several, NAME:0, NAME:1.
struct DeviceEntry {
  std::string name;
  std::string summary;
  bool numbered = false;
  bool chosen_by_all = true;  ///< "all" takes those that this machine has.
  /// The device that it is as fast as in virtual time; null: as itself.
  const char* as_fast_as = nullptr;
  /// The numbers N of those that it has and can use; of emulated ones any number can be made.
  std::vector<int> (*usable)() = nullptr;
  /// Throws UserError with a sentence if there is none with this number.
  std::shared_ptr<Device> (*make)(int number, const DeviceSettings& settings) = nullptr;
};
const std::vector<DeviceEntry>& device_kinds();

/// The names of devices, with "all" as what this machine has. Throws UserError, which begins with
/// `where`, for an unknown name or one that occurs twice.
std::vector<std::string> DeviceNames(const std::vector<std::string>& names,
                                     const std::string& where);

/// The devices of one of a machine's ranks. Of a numbered kind the ranks share those that are
/// named evenly, neighbours by rank taking neighbours; each has at least one, and not more unless
/// it takes `several`. A single rank has all, and each has those of other kinds.
std::vector<std::string> ShareOf(const std::vector<std::string>& names, const LocalRank& rank,
                                 bool several);

/// How a machine's ranks share devices.
struct DeviceShares {
  std::vector<std::string> used, idle;  ///< In the order in which they are named.
  bool shared = false;                  ///< A rank has one, of a numbered kind, that another has.
};
DeviceShares SharesOf(const std::vector<std::string>& names, int ranks, bool several);

/// What the environment's YOKE_DEVICES names, separated by commas, in place of a job's devices;
/// empty: nothing.
std::vector<std::string> AskedDevices();
/// What a user does whose job computes on the CPU only: "set node.devices = \"cpu\"".
std::string HowToUseTheCpu();

/// The device whose speed a named one has in virtual time: itself for most.
std::string_view AsFastAs(std::string_view name);

class Devices {
 public:
  /// Those that DeviceNames returns.
  Devices(const std::vector<std::string>& names, const std::string& where,
          const DeviceSettings& settings = {});
  const std::vector<Device*>& all() const { return all_; }
  std::vector<std::string> names() const;

 private:
  void Add(std::shared_ptr<Device> device);

  std::vector<std::shared_ptr<Device>> owned_;
  std::vector<Device*> all_;
};

/// Throws UserError if the environment's YOKE_HUGE_PAGES is neither on nor off.
void RequirePages();

/// Counts an allocation by a device that lies in the host's memory. Throws UserError if it exceeds
/// what this process may use: the system would promise more than it has, and end the process when
/// that is touched.
void ReserveMemory(int64_t bytes);
void ReturnMemory(int64_t bytes);

}  // namespace yoke
