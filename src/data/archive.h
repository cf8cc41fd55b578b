// Archives: the files inside a tar or zip file, from front to back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace yoke {

/// Whether a path in an archive or a folder is nobody's data: a part of it is such as ".git",
/// "._1.jpg" or "__MACOSX".
bool IsHidden(const std::string& path);

/// Whether a file that begins like this is a zip archive.
bool IsZip(std::string_view head);

/// The content of the only file in the zip archive at `path`; hidden ones do not count. Throws
/// UserError when it holds none or several.
std::unique_ptr<ByteSource> OpenOnlyEntry(const std::string& path);

/// One file inside an archive, during a visit.
struct ArchiveFile {
  std::vector<std::string> names;  ///< Its own, or those of the links to it.
  int64_t size;                    ///< -1: known when it has been read.
  ByteSource& content;             ///< What is not read is passed over, and held nowhere.
};

/// Files of one kind: how many, and the first by name.
struct FileCount {
  int64_t count = 0;
  std::string first;
  void Add(const std::string& name);
};

/// Calls visit for each regular file of a tar or zip archive, compressed or not, in the order in
/// which they lie there; then once more for each file that hard or symbolic links in the archive
/// lead to. Hidden links are passed over; those that lead
/// to no file are returned. Throws UserError naming the archive
/// when it is missing, none, encrypted, damaged or breaks off.
FileCount ForEachEntry(const std::string& path,
                       const std::function<void(const ArchiveFile& file)>& visit);

}  // namespace yoke
