// Any bytes as LIBSVM text.
#include "format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  return yoke::fuzz::FuzzFormat("libsvm", bytes, size);
}
