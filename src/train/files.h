// The files of a run: read whole or mapped, replaced atomically, waited for until they are on disk,
// and sealed by checksums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/value.h"
#include "data/storage.h"

namespace yoke {

/// A file differs from what was written: missing, truncated or altered. Another checkpoint may be
/// intact.
class DamagedError : public UserError {
  using UserError::UserError;
};

/// Reads a whole file. Throws DamagedError if it is missing or not a regular file, UserError if it
/// cannot be read.
std::string ReadWhole(const std::string& path);

/// The same, but mapped: pages are loaded when they are used (see DropPages).
SharedBytes MapWhole(const std::string& path);
/// Releases the pages of a part of mapped bytes; they are loaded again on use.
void DropPages(std::string_view part);

/// Reads a file of a run: "" if it is missing. Throws UserError if it is not a regular file.
std::string ReadOwn(const std::string& path);
/// Reads a TOML file of a run. Throws UserError if it is not a regular file or not TOML.
Value ReadOwnToml(const std::string& path);

/// While one exists, the functions below do not wait for the disk: all files that this process
/// writes may be lost with the machine.
class ScratchFiles {
 public:
  ScratchFiles();
  ~ScratchFiles();
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;
};

/// Writes a new file and waits until it is on disk. Throws Error with the file and the reason (full
/// disk; a file or link of that name exists).
void WriteDurably(const std::string& path, std::string_view bytes);
/// The same for consecutive pieces.
void WriteDurably(const std::string& path, std::span<const std::string_view> pieces);
/// Waits until a folder's entries are on disk.
void SyncFolder(const std::string& folder);
/// Replaces a small file atomically: readers see the old text or the new one.
void ReplaceFile(const std::string& path, std::string_view bytes);
/// Makes `path` a symbolic link to `target`, atomically replacing another link.
void ReplaceLink(const std::string& path, const std::string& target);
/// Renames the folder `from` to `to`. An existing folder `to` is exchanged atomically, then
/// removed.
void ReplaceFolder(const std::string& from, const std::string& to);

/// A checksum of 16 hexadecimal digits. The division of the bytes into pieces does not matter.
class Checksum {
 public:
  explicit Checksum(uint64_t bytes) : hash_(bytes) {}  ///< `bytes`: the total number of bytes.
  void Add(std::string_view piece);
  std::string Text() const;

 private:
  uint64_t hash_;
  uint64_t word_ = 0;
  size_t filled_ = 0;  ///< Bytes in the current word.
};
std::string ChecksumOf(std::string_view bytes);
/// The same for consecutive pieces.
std::string ChecksumOf(std::span<const std::string_view> pieces);
/// Writes the checksum of all of `bytes`, with its own 16 digits as '0', at position `at`.
void Seal(std::string& bytes, size_t at);
/// Whether the checksum at position `at` is that of `bytes`, which is restored afterwards.
bool SealHolds(std::string& bytes, size_t at);

}  // namespace yoke
