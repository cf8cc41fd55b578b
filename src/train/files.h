// Files that are whole or absent: written aside, synchronised with the disk, then renamed into
// place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/storage.h"

namespace yoke {

/// A file is not what was written: missing, cut or altered. Another one may be whole.
class DamagedError : public UserError {
  using UserError::UserError;
};

/// The whole of a file. Throws DamagedError naming it when it is missing or no regular file,
/// UserError when it cannot be read.
std::string ReadWhole(const std::string& path);

/// The same, mapped and not read: pages are there while they are used (see DropPages).
SharedBytes MapWhole(const std::string& path);
/// Takes the pages that lie in a part of mapped bytes out of this process; they are there again
/// when they are used.
void DropPages(std::string_view part);

/// Writes a new file and waits until it is on the disk. Throws Error naming the file and the reason
/// (full disk).
void WriteDurably(const std::string& path, std::string_view bytes);
/// The same of a file in pieces, which stand one behind another.
void WriteDurably(const std::string& path, std::span<const std::string_view> pieces);
/// Waits until a folder's entries are on the disk.
void SyncFolder(const std::string& folder);
/// Replaces a small file at once: readers see the old text or the new one.
void ReplaceFile(const std::string& path, std::string_view bytes);
/// Makes `path` a symbolic link to `target`, replacing another link at once.
void ReplaceLink(const std::string& path, const std::string& target);
/// Gives the folder `from` the name `to`; one that is there already is exchanged for it at once,
/// then removed.
void ReplaceFolder(const std::string& from, const std::string& to);

/// 16 hexadecimal digits that depend on every byte of what comes in pieces, wherever they are cut.
class Checksum {
 public:
  explicit Checksum(uint64_t bytes) : hash_(bytes) {}  ///< `bytes` that come in all.
  void Add(std::string_view piece);
  std::string Text() const;

 private:
  uint64_t hash_;
  uint64_t word_ = 0;
  size_t filled_ = 0;  ///< Bytes of the word.
};
std::string ChecksumOf(std::string_view bytes);
/// The same of pieces one behind another.
std::string ChecksumOf(std::span<const std::string_view> pieces);
/// Writes the checksum of all of `bytes` (its own 16 places counting as '0') at position `at`.
void Seal(std::string& bytes, size_t at);
/// Whether the checksum at position `at` is that of `bytes`, which is unchanged afterwards.
bool SealHolds(std::string& bytes, size_t at);

}  // namespace yoke
