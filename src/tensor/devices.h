// Devices: those that a job names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/emulated.h"

namespace yoke {

class Devices {
 public:
  /// `names`: "all" (what this machine has: the CPU), "cpu", "emulated:N". Throws UserError, which
  /// begins with `where`, for an unknown name or one that occurs twice. `emulated`: the speed
  /// of emulated ones.
  Devices(const std::vector<std::string>& names, const std::string& where,
          EmulatedSpeed emulated = {});
  const std::vector<Device*>& all() const { return all_; }
  std::vector<std::string> names() const;

 private:
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> all_;
};

}  // namespace yoke
