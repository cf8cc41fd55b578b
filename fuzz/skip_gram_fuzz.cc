// Any bytes as text.
// guards: src/data
#include "format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  return yoke::fuzz::FuzzFormat("skip-gram", bytes, size);
}
