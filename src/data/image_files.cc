// Walks folders and archives for images; a file is an image by its first bytes, or by a name such
// as "1.jpg".
#include "data/image_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "data/image.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;
using Visit = std::function<void(ImageFile)>;

// Of any part: ".git", "._1.jpg" and "__MACOSX" are nobody's data.
bool IsHidden(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    const std::string name = part.string();
    return (name.starts_with(".") && name != "." && name != "..") || name == "__MACOSX";
  });
}

bool IsNamedLikeImage(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

bool IsImage(std::string_view head, const fs::path& path) {
  return KindOfImage(head) != ImageKind::kNone || IsNamedLikeImage(path);
}

std::string FolderName(const fs::path& path) { return path.parent_path().filename().string(); }

std::string Rest(std::string_view head, ByteSource& source) {
  std::string bytes(head);
  return bytes += ReadAll(source);
}

// Files below a folder, relative to it, sorted.
std::vector<fs::path> FilesBelow(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path path = entry->path().lexically_relative(folder);
    std::error_code unknown;
    if (!IsHidden(path) && entry->is_regular_file(unknown)) files.push_back(path);
  }
  Require(!error, "{}: the folder cannot be read: {}", folder, error.message());
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

int64_t VisitFolder(const std::string& folder, const OpenPath& open, const Visit& visit) {
  int64_t skipped = 0;
  for (const fs::path& path : FilesBelow(folder)) {
    const std::string name = (fs::path(folder) / path).string();
    const auto source = open(name);
    const std::string_view head = source->Next();
    if (IsImage(head, path)) {
      visit({name, path.generic_string(), FolderName(path), Rest(head, *source)});
    } else {
      ++skipped;
    }
  }
  return skipped;
}

int64_t VisitArchive(const std::string& archive, const Visit& visit) {
  int64_t skipped = 0;
  ForEachEntry(archive, [&](const std::string& entry, std::string_view bytes) {
    const fs::path path = fs::path(entry).lexically_normal();
    if (IsHidden(path)) return;
    if (IsImage(bytes, path)) {
      visit({archive + ":" + entry, path.generic_string(), FolderName(path), std::string(bytes)});
    } else {
      ++skipped;
    }
  });
  return skipped;
}

}  // namespace

int64_t ForEachImageFile(const std::string& path, const OpenPath& open, const Visit& visit) {
  if (fs::is_directory(path)) return VisitFolder(path, open, visit);
  const auto source = open(path);
  const std::string_view head = source->Next();
  if (!IsImage(head, path)) return VisitArchive(path, visit);
  visit({path, fs::path(path).filename().string(), "", Rest(head, *source)});
  return 0;
}

}  // namespace yoke
