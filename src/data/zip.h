// Zip: compares the two descriptions that a zip archive has of each file.
#pragma once

#include <string>

namespace yoke {

/// Throws UserError with the archive if a file's name or CRC in the directory is not that before
/// its bytes: one of them has changed, and nothing says which. Leaves an archive without a
/// directory to its reader.
void CheckZipDirectory(const std::string& path);

}  // namespace yoke
