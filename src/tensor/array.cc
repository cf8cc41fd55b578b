// Array: copies between memories, in the order of the stream that a thread has been told.
#include "tensor/array.h"

#include <cstring>

#include "base/check.h"

namespace yoke {

void RequireHost(const Device& device) {
  if (!device.IsHost())
    throw Error(fmt::format("the host cannot read the memory of {}", device.name()));
}

void StartCopyBytes(Array<char> to, Array<const char> from) {
  Check(to.count == from.count, "a copy is as long as what is copied");
  if (to.count == 0) return;
  if (to.OnHost() && from.OnHost()) {
    std::memmove(to.data, from.data, static_cast<size_t>(to.count));
    return;
  }
  Check(to.OnHost() || from.OnHost() || to.device == from.device,
        "a copy between two devices goes through the host");
  CurrentStream(to.OnHost() ? *from.device : *to.device).Copy(to.data, from.data, to.count);
}

void CopyBytes(Array<char> to, Array<const char> from) {
  StartCopyBytes(to, from);
  if (to.OnHost() == from.OnHost() || to.count == 0) return;
  CurrentStream(to.OnHost() ? *from.device : *to.device).Wait();
}

namespace {

thread_local Device* beside_device = nullptr;
thread_local Stream* beside_stream = nullptr;

}  // namespace

Stream& CurrentStream(Device& device) {
  return &device == beside_device ? *beside_stream : device.stream();
}

Beside::Beside(Device& device, Stream& stream) {
  beside_device = &device;
  beside_stream = &stream;
}

Beside::~Beside() { beside_device = nullptr; }

}  // namespace yoke
