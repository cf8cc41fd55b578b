// CurrentStream: the stream of a device that orders this thread's copies and vectors.
#pragma once

#include "tensor/device.h"

namespace yoke {

/// Device::stream(), unless this thread is Beside it.
Stream& CurrentStream(Device& device);

/// While it lives, this thread's copies and vectors on the device go to another stream: they run
/// beside training. One at a time on a thread.
class Beside {
 public:
  Beside(Device& device, Stream& stream);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
};

}  // namespace yoke
