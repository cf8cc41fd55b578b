// TemporaryFolder: a folder that its destructor removes, or, after a kill, the next one of its
// name.
#pragma once

#include <string>

namespace yoke {

class TemporaryFolder {
 public:
  /// In the system's folder for temporary files; its path ends in `name`, a dash and 6 letters.
  /// Removes this user's folders of this name whose processes have ended. Throws Error if none can
  /// be made.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  ///< Held on the folder while it is used.
};

}  // namespace yoke
