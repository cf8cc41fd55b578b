// Denormals: numbers below 1.2e-38 in f32, each of which costs some processors a hundred cycles.
// The momentum of a weight whose gradient stays 0 sinks to them and stays there: 0.9 times 4 units
// of the smallest one rounds to 4 units. A thread that flushes them takes them as 0 and writes 0
// for them.
#pragma once

#include <cstdint>

namespace yoke {

/// Lets this thread, and those that it starts from then on, flush denormals (FTZ and DAZ). Returns
/// how it computed before, for ComputeAs.
uint32_t FlushDenormals();
/// Gives the thread back as it was.
void ComputeAs(uint32_t before);
/// Whether this thread flushes them.
bool FlushesDenormals();

}  // namespace yoke
