// Image files: the images in a folder or archive, with the class named by their folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/archive.h"
#include "data/source.h"

namespace yoke {

/// A file that is an image by content or by name.
struct ImageFile {
  std::string name;         ///< For messages: "data/cat/1.jpg", "data.tar.xz:cat/1.jpg".
  std::string path;         ///< Below the folder or archive: "cat/1.jpg".
  std::string folder_name;  ///< Name of the folder that directly contains it; empty at the top.
  std::string bytes;
};

/// Opens a path (ReadFiles::open).
using OpenPath = std::function<std::unique_ptr<ByteSource>(const std::string& path)>;

/// The contents of a folder or archive besides images.
struct PassedOver {
  FileCount others;      ///< Files that are not images by content or name.
  FileCount lost_links;  ///< Dangling links.
  FileCount loops;       ///< Links to a folder that contains them.

  /// Sentences about it for the user; may be empty.
  std::vector<std::string> Sentences() const;
};

/// Calls visit for each image in a folder (sorted by path) or in a tar or zip archive, compressed
/// or not (in archive order, links last), or for the image `path`. Follows links, skips hidden
/// files and returns other files. Throws UserError with the file if it is missing, unreadable, too
/// large, or a damaged archive.
PassedOver ForEachImageFile(const std::string& path, const OpenPath& open,
                            const std::function<void(ImageFile file)>& visit);

}  // namespace yoke
