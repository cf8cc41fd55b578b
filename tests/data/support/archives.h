// Files of a test: a folder that goes away, compressed texts and tar archives.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yoke::testing {

/// A folder below the system's temporary one, removed with all it holds in the end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  /// Writes a file and returns its path.
  std::string Write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

/// `bytes` compressed by "gzip", "bzip2", "xz" or "zstd".
std::string Compressed(const std::string& filter, std::string_view bytes);

/// A tar archive of (name, bytes), not compressed.
std::string Tar(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace yoke::testing
