// Image files: what lies below a folder or in an archive, with the class that its folder names.
#pragma once

#include <functional>
#include <string>

#include "data/source.h"

namespace yoke {

/// One file that holds an image, or says so by its name.
struct ImageFile {
  std::string name;         ///< For messages: "data/cat/1.jpg", "data.tar.xz:cat/1.jpg".
  std::string path;         ///< Below the folder or archive: "cat/1.jpg".
  std::string folder_name;  ///< Of the deepest folder around it; empty right at the top.
  std::string bytes;
};

/// How a path becomes bytes (ReadFiles::open).
using OpenPath = std::function<std::unique_ptr<ByteSource>(const std::string& path)>;

/// Calls visit for each image of a folder (sorted by path), of a tar archive, compressed or not (in
/// the order in which they lie there), or for the one image that `path` is. Hidden files are passed
/// over; returns how many other files are neither images nor named like one. Throws UserError
/// naming the file: missing, unreadable, damaged archive.
int64_t ForEachImageFile(const std::string& path, const OpenPath& open,
                         const std::function<void(ImageFile file)>& visit);

}  // namespace yoke
