// Target: what a kernel is made for.
#pragma once

#include "tensor/device.h"

namespace yoke {

struct Target {
  Device* device = &Cpu();
  Stream* stream = &CpuStream();  ///< Of this device; orders the kernel's calls.
  bool reference = false;         ///< Only reference kernels (tests, old CPUs).
};

}  // namespace yoke
