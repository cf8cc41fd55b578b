// Image files: what lies below a folder or in an archive, with the class that its folder names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/archive.h"
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

/// What a folder or archive holds besides images.
struct PassedOver {
  FileCount others;      ///< Files that are neither images nor named like one.
  FileCount lost_links;  ///< Links that lead to no file.
  FileCount loops;       ///< Links to a folder that they lie in.

  /// What a person should know of it; empty where there is nothing.
  std::vector<std::string> Sentences() const;
};

/// Calls visit for each image of a folder (sorted by path), of a tar or zip archive, compressed or
/// not (in the order in which they lie there; links last), or for the one image that `path` is.
/// Links are followed. Hidden files are passed over, others are told. Throws UserError naming the
/// file: missing, unreadable, too large, damaged archive.
PassedOver ForEachImageFile(const std::string& path, const OpenPath& open,
                            const std::function<void(ImageFile file)>& visit);

}  // namespace yoke
