// Folder files: the images or texts in a folder or archive, with the class named by their folder,
// and the sets of examples that folders above name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/archive.h"
#include "data/classes.h"
#include "data/source.h"

namespace yoke {

/// A file of the kind that is asked for.
struct FolderFile {
  std::string name;         ///< For messages: "data/cat/1.jpg", "data.tar.xz:cat/1.jpg".
  std::string path;         ///< Below the folder or archive: "cat/1.jpg".
  std::string folder_name;  ///< Name of the folder that directly contains it; empty at the top.
  std::string bytes;
};

/// Opens a path (ReadFiles::open).
using OpenPath = std::function<std::unique_ptr<ByteSource>(const std::string& path)>;

/// What is read from a folder or archive.
enum class FileKind : uint8_t {
  kImages,  ///< By content or by name.
  kTexts,   ///< Files that begin without a zero byte.
};

/// The contents of a folder or archive besides such files.
struct PassedOver {
  const char* others_are = "";  ///< "neither JPEG nor PNG"
  FileCount others;             ///< Files of another kind.
  FileCount lost_links;         ///< Dangling links.
  FileCount loops;              ///< Links to a folder that contains them.

  /// Sentences about it for the user; may be empty.
  std::vector<std::string> Sentences() const;
};

/// Calls visit for each file of a kind in a folder (sorted by path) or in a tar or zip archive,
/// compressed or not (in archive order, links last), or for the file `path`. Follows links, skips
/// hidden files and returns other files. Throws UserError with the file if it is missing,
/// unreadable, too large, or a damaged archive.
PassedOver ForEachFile(const std::string& path, const OpenPath& open, FileKind kind,
                       const std::function<void(FolderFile file)>& visit);

/// The class that a file's folder names; -1 if there is none or another one and `optional` allows
/// that. Throws UserError otherwise.
int32_t ClassOf(const FolderFile& file, ClassLabels& classes, bool optional);

/// A set of examples, by the name of a folder above those of the classes.
enum class FolderSplit : uint8_t { kTrain, kValidation, kTest };

/// The set of each file, by its path; empty unless the folder of training files and that of another
/// set hold files.
std::vector<FolderSplit> SplitsOf(const std::vector<std::string>& paths);

}  // namespace yoke
