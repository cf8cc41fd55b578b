// OutputFile: writes a large file under a temporary name and renames it when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace yoke {

/// The file appears under its name at Commit, complete and on disk, or not at all. It takes the
/// place of an older file, whose permissions it keeps; a link to one stays a link. Devices and
/// pipes are written in place.
class OutputFile {
 public:
  /// Throws UserError with the path and the reason if no file can be created there (a folder, a
  /// socket, no permission).
  explicit OutputFile(std::string path);
  ~OutputFile();  ///< Removes an uncommitted file.
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Error with the path and the reason (full disk).
  void Write(std::string_view bytes);
  void Commit();
  int64_t bytes() const { return bytes_; }  ///< Written so far.

 private:
  [[noreturn]] void Fail() const;

  std::string path_;
  std::string target_;  ///< What is replaced: `path_`, or where it leads.
  std::string aside_;   ///< Written first; "": written in place.
  int64_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace yoke
