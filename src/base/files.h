// Files: opening regular ones, what lies at a path, names for files that are to replace others, and
// temporary folders.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// Opens a file for reading and writing, and creates it if it is missing; `flags` are those of
/// open() beside these. Returns its descriptor. Throws UserError at a link and at whatever is not a
/// regular file, without waiting for it.
int OpenRegular(const std::string& path, int flags = 0);

/// Whether something lies at `path`; links are followed. Throws UserError naming the path and the
/// reason when nobody can tell: a folder on the way may not be searched.
bool Exists(const std::string& path);

/// `path`, a dot, 16 random hexadecimal digits and ".new": where a file that is to replace `path`
/// is written.
std::string NameBeside(const std::string& path);

/// The name from which NameBeside has made `name`; "" if it has not.
std::string_view OriginOf(std::string_view name);

/// Whether `path` is a symbolic link, wherever it points.
bool IsLink(const std::string& path);

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
