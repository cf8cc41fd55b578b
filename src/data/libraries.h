// Libraries: the loaded versions of the libraries that read files.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace yoke {

/// {"libarchive", "3.6.2"}, {"libjpeg-turbo", "2.1.5"}, {"libpng", "1.6.39"},
/// {"zlib", "1.2.13"}.
std::vector<std::pair<std::string, std::string>> DataLibraries();

}  // namespace yoke
