// Any bytes as xmc-binary: as they are, and with the checksum that makes them whole.
// guards: src/data
#include "data/xmc_binary.h"

#include <cstddef>
#include <cstring>

#include "format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using yoke::XmcBinaryHeader;
  yoke::fuzz::FuzzFormat("xmc-binary", bytes, size);
  if (size < sizeof(XmcBinaryHeader)) return 0;
  std::string sealed(reinterpret_cast<const char*>(bytes), size);
  const uint64_t checksum = yoke::XmcBinaryChecksum(sealed);
  std::memcpy(sealed.data() + offsetof(XmcBinaryHeader, checksum), &checksum, sizeof(checksum));
  return yoke::fuzz::FuzzFormat("xmc-binary", reinterpret_cast<const uint8_t*>(sealed.data()),
                                size);
}
