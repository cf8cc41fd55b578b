// std::filesystem says "no" to what it may not see, or throws a message of its own.
#include "base/exists.h"

#include <filesystem>

#include "base/check.h"

namespace yoke {

bool Exists(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  Require(fs::status_known(status), "{}: cannot be read: {}", path, error.message());
  return fs::exists(status);
}

}  // namespace yoke
