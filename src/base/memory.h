// How much memory this process may use, and what it keeps.
#pragma once

#include <cstdint>

namespace yoke {

/// Bytes of the machine's memory, or of its control group's limit where that is less.
int64_t UsableMemory();

/// Keeps blocks of some MB that are freed with the process: given back to the kernel they cost page
/// faults each time. That is 7 to 14 % of a step of LeNet over MPI, and, with AVX2 alone, where the
/// kernel library allocates what it packs, 10 % of one of ResNet-20. Call it early in main.
void KeepFreedMemory();

}  // namespace yoke
