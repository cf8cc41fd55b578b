// Archives: the files inside a tar or zip file, from front to back; files compressed by gzip; and
// the libraries that read files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/source.h"

namespace yoke {

/// Whether a path contains a hidden part, such as ".git", "._1.jpg" or "__MACOSX".
bool IsHidden(const std::string& path);

/// Whether a file that begins like this is a zip archive.
bool IsZip(std::string_view head);

/// The content of the only file in the zip archive at `path`, not counting hidden ones. Throws
/// UserError if there is none or more than one.
std::unique_ptr<ByteSource> OpenOnlyEntry(const std::string& path);

/// One file inside an archive, during a visit.
struct ArchiveFile {
  std::vector<std::string> names;  ///< Its own, or those of the links to it.
  int64_t size;                    ///< -1: unknown until it has been read.
  ByteSource& content;             ///< Unread content is skipped.
};

/// Files of one kind: how many, and the first by name.
struct FileCount {
  int64_t count = 0;
  std::string first;
  void Add(const std::string& name);
};

/// Calls visit for each regular file of a tar or zip archive, compressed or not, in archive order,
/// then again for each file that links in the archive lead to. Skips hidden links; returns dangling
/// ones. Throws UserError with the archive if it is missing, not an archive, encrypted, damaged or
/// truncated.
FileCount ForEachEntry(const std::string& path,
                       const std::function<void(const ArchiveFile& file)>& visit);

/// Throws UserError with the archive if a file's name or CRC in the directory is not that before
/// its bytes: one of them has changed, and nothing says which. Leaves an archive without a
/// directory to its reader.
void CheckZipDirectory(const std::string& path);

/// Whether a file that begins like this is a gzip file.
bool IsGzip(std::string_view head);

/// The content of `compressed`: one or more gzip members, which zeros may follow (tapes). Next()
/// throws UserError with the file if it is truncated, if a member does not match its checksum or
/// length, or if other bytes follow.
std::unique_ptr<ByteSource> Gunzip(std::unique_ptr<ByteSource> compressed);

/// {"libarchive", "3.6.2"}, {"libjpeg-turbo", "2.1.5"}, {"libpng", "1.6.39"},
/// {"zlib", "1.2.13"}.
std::vector<std::pair<std::string, std::string>> DataLibraries();

}  // namespace yoke
