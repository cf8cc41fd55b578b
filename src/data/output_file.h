// OutputFile: writes a large file beside its place and renames it when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// The file appears under its name at Commit, whole and on the disk, or not at all.
class OutputFile {
 public:
  /// Throws UserError naming the path and the reason when no file can be made there.
  explicit OutputFile(std::string path);
  ~OutputFile();  ///< Removes what was not committed.
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Error naming the path and the reason (full disk).
  void Write(std::string_view bytes);
  void Commit();

 private:
  [[noreturn]] void Fail() const;

  std::string path_;
  std::string aside_;
  int file_ = -1;
};

}  // namespace yoke
