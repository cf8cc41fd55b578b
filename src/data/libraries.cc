// Libraries: asks each for its version (libjpeg-turbo has no such call: uses the version at compile
// time).
#include "data/libraries.h"

#include <archive.h>
#include <fmt/core.h>
#include <jconfig.h>
#include <png.h>
#include <zlib.h>

namespace yoke {

std::vector<std::pair<std::string, std::string>> DataLibraries() {
  const int archive = archive_version_number();   // 3006002 is 3.6.2
  const int jpeg = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005 is 2.1.5
  auto dotted = [](int version) {
    return fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
  };
  return {{"libarchive", dotted(archive)},
          {"libjpeg-turbo", dotted(jpeg)},
          {"libpng", png_get_libpng_ver(nullptr)},
          {"zlib", zlibVersion()}};
}

}  // namespace yoke
