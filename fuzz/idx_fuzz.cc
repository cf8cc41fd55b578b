// Any bytes as an idx file.
// guards: src/data
#include "format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  return yoke::fuzz::FuzzFormat("idx", bytes, size);
}
