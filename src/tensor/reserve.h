// How much of the host's memory the devices that lie in it have taken.
#pragma once

#include "tensor/device.h"

namespace yoke {

/// Counts an allocation. Throws UserError if it exceeds what this process may use: the system would
/// promise more than it has, and end the process when that is touched.
void ReserveMemory(int64_t bytes);
void ReturnMemory(int64_t bytes);

}  // namespace yoke
