// Files of a test: a folder that goes away, compressed texts and tar archives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace yoke::testing_support {

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

/// Letters drawn at random, the same for the same size: a text that compresses little.
std::string Noise(int64_t size);

/// `bytes` compressed by "gzip", "bzip2", "xz" or "zstd".
std::string Compressed(const std::string& filter, std::string_view bytes);

/// A tar archive of (name, bytes), not compressed.
std::string Tar(const std::vector<std::pair<std::string, std::string>>& files);

/// A file in an archive, or a link.
struct Member {
  std::string name;
  std::string bytes = {};
  std::string hard_link = {};      ///< What it leads to; empty: it is no such link.
  std::string symbolic_link = {};  ///< The same.
};
/// An archive in one of libarchive's formats: "pax", "gnutar", "zip".
std::string ArchiveOf(const std::string& format, const std::vector<Member>& members);

}  // namespace yoke::testing_support
