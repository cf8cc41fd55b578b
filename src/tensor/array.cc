// Array: copies between memories.
#include "tensor/array.h"

#include <cstring>

#include "base/check.h"

namespace yoke {

void RequireHost(const Device& device) {
  if (!device.IsHost())
    throw Error(fmt::format("the host cannot read the memory of {}", device.name()));
}

void CopyBytes(Device& to_device, void* to, Device& from_device, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  if (to_device.IsHost() && from_device.IsHost()) {
    std::memmove(to, from, static_cast<size_t>(bytes));
    return;
  }
  Device& device = to_device.IsHost() ? from_device : to_device;
  Check(to_device.IsHost() || from_device.IsHost() || &to_device == &from_device,
        "a copy between two devices goes through the host");
  device.stream().Copy(to, from, bytes);
  device.stream().Wait();
}

}  // namespace yoke
