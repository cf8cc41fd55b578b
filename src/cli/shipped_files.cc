// ShippedFiles: looks for files relative to the program.
#include "cli/shipped_files.h"

#include <filesystem>

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// A file of the clone, and its place below the prefix after `make install`.
struct ShippedFile {
  const char* name;
  const char* installed;
};

constexpr ShippedFile kFiles[] = {
    {"examples/demo.toml", "share/yoke/examples/demo.toml"},
    {"docs/first-hour.md", "share/doc/yoke/first-hour.md"},
};

std::string Find(const ShippedFile& file) {
  std::error_code none;
  if (fs::exists(file.name, none)) return file.name;
  const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& path :
       {folder.parent_path() / file.installed, folder.parent_path().parent_path() / file.name})
    if (fs::exists(path, none)) return path;
  return file.name;
}

}  // namespace

std::string WithShippedFiles(std::string text) {
  for (const ShippedFile& file : kFiles) {
    const std::string name = file.name, path = Find(file);
    for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += path.size())
      text.replace(at, name.size(), path);
  }
  return text;
}

}  // namespace yoke
