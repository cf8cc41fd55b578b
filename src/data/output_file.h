// OutputFile: writes a large file under a temporary name and renames it when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// The file appears under its name at Commit, complete and on disk, or not at all.
class OutputFile {
 public:
  /// Throws UserError with the path and the reason if no file can be created there.
  explicit OutputFile(std::string path);
  ~OutputFile();  ///< Removes an uncommitted file.
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Error with the path and the reason (full disk).
  void Write(std::string_view bytes);
  void Commit();

 private:
  [[noreturn]] void Fail() const;

  std::string path_;
  std::string aside_;
  int file_ = -1;
};

}  // namespace yoke
