// TemporaryFolder: a folder that its destructor removes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace yoke {

class TemporaryFolder {
 public:
  /// In the system's folder for temporary files; its name begins with `name`.
  explicit TemporaryFolder(const std::string& name) {
    path_ = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
    Check(mkdtemp(path_.data()), "a temporary folder could not be made");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace yoke
