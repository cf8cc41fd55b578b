// Writers: a large file, which appears under its name when it is complete, and data sets in formats
// that other programs read (yoke synthesize).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/reader.h"

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

/// Writes sparse multi-label examples as XMC text: `N F L`, then `l1,l2,... f1:v1 f2:v2 ...` per
/// example. Numbers are read back exactly. The file appears when it is complete. Throws UserError
/// if the reader has other data or no file can be created at `path`, Error if writing fails (full
/// disk). Returns the number of bytes.
int64_t WriteXmc(const Reader& reader, const std::string& path);

/// Writes grey images and their classes as two idx files (unsigned bytes), undoing the reader's
/// normalization. Throws like WriteXmc.
void WriteIdx(const Reader& reader, const std::string& images_path, const std::string& labels_path);

}  // namespace yoke
