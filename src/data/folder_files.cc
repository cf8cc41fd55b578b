// Walks folders and archives; a file is an image by its first bytes, or by a name such as "1.jpg".
#include "data/folder_files.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/archive.h"
#include "data/image.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;
using Visit = std::function<void(FolderFile)>;

// Maximum size of an image file: four bytes per pixel, uncompressed.
constexpr int64_t kMostBytes = 4 * kMaxPixels;

bool IsNamedLikeImage(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

bool IsImage(std::string_view head, const fs::path& path) {
  return KindOfImage(head) != ImageKind::kNone || !ForeignImage(head).empty() ||
         IsNamedLikeImage(path);
}

bool IsText(std::string_view head, const fs::path& /*path*/) {
  return head.find('\0') == head.npos;
}

/// What is looked for.
struct Wanted {
  bool (*is)(std::string_view head, const fs::path& path);
  const char* name;
  const char* others;
};

const Wanted& WantedFor(FileKind kind) {
  static constexpr Wanted kImages = {IsImage, "an image", "neither JPEG nor PNG"},
                          kTexts = {IsText, "a text", "not text"};
  return kind == FileKind::kImages ? kImages : kTexts;
}

std::string FolderName(const fs::path& path) { return path.parent_path().filename().string(); }

[[noreturn]] void FailSize(const std::string& name, const Wanted& wanted) {
  throw UserError(fmt::format("{}: the file is too large for {}; expected at most {} MB", name,
                              wanted.name, kMostBytes / 1'000'000));
}

// The whole file, whose first bytes are `head`.
std::string Whole(std::string_view head, ByteSource& source, const Wanted& wanted) {
  std::string bytes(head);
  for (std::string_view piece; !(piece = source.Next()).empty(); bytes += piece)
    if (static_cast<int64_t>(bytes.size() + piece.size()) > kMostBytes)
      FailSize(source.Name(), wanted);
  return bytes;
}

// The files below a folder, following links.
class Tree {
 public:
  Tree(std::string root, PassedOver& passed_over)
      : root_(std::move(root)), passed_over_(passed_over) {
    Enter(fs::path());
    std::sort(files_.begin(), files_.end(),
              [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  }

  // Relative to the folder, sorted.
  const std::vector<fs::path>& files() const { return files_; }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  // Enters a folder, unless that would be a loop.
  void Enter(const fs::path& path) {
    const std::string folder = (root_ / path).string();
    struct stat info = {};
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    if (!error && stat(folder.c_str(), &info) != 0) error = {errno, std::generic_category()};
    const Identity identity = {info.st_dev, info.st_ino};
    if (std::ranges::find(above_, identity) != above_.end())
      return passed_over_.loops.Add(path.string());
    above_.push_back(identity);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error))
      if (!IsHidden(entry->path().filename().string()))
        Add(path / entry->path().filename(), *entry);
    above_.pop_back();
    Require(!error, "{}: the folder cannot be read: {}", folder, error.message());
  }

  void Add(const fs::path& path, const fs::directory_entry& entry) {
    std::error_code error;
    const fs::file_status status = entry.status(error);
    const bool lost = status.type() == fs::file_type::not_found ||
                      error == std::errc::too_many_symbolic_link_levels;
    Require(lost || fs::status_known(status), "{}: cannot be read: {}", entry.path().string(),
            error.message());
    if (lost) return passed_over_.lost_links.Add(path.string());
    if (fs::is_directory(status)) return Enter(path);
    if (fs::is_regular_file(status)) return files_.push_back(path);
    passed_over_.others.Add(path.string());
  }

  fs::path root_;
  PassedOver& passed_over_;
  std::vector<Identity> above_;  // the folders above the current one
  std::vector<fs::path> files_;
};

// The same for a file on disk, refused by its size before it is read.
std::string Whole(const std::string& path, std::string_view head, ByteSource& source,
                  const Wanted& wanted) {
  std::error_code unknown;
  const uintmax_t size = fs::file_size(path, unknown);
  if (!unknown && size > kMostBytes) FailSize(path, wanted);
  return Whole(head, source, wanted);
}

PassedOver VisitFolder(const std::string& folder, const OpenPath& open, const Wanted& wanted,
                       const Visit& visit) {
  PassedOver passed_over{.others_are = wanted.others};
  const Tree tree(folder, passed_over);
  for (const fs::path& path : tree.files()) {
    const std::string name = (fs::path(folder) / path).string();
    const auto source = open(name);
    const std::string_view head = source->Next();
    if (wanted.is(head, path)) {
      visit({name, path.generic_string(), FolderName(path), Whole(name, head, *source, wanted)});
    } else {
      passed_over.others.Add(path.string());
    }
  }
  return passed_over;
}

// Calls visit for each name of the file that may be of the kind.
void VisitEntry(const std::string& archive, const ArchiveFile& file, const Wanted& wanted,
                const Visit& visit, PassedOver& passed_over) {
  const std::string_view head = file.content.Next();
  std::vector<std::string> names;
  for (const std::string& name : file.names) {
    if (IsHidden(name)) continue;
    wanted.is(head, name) ? names.push_back(name) : passed_over.others.Add(name);
  }
  if (names.empty()) return;
  if (file.size > kMostBytes) FailSize(file.content.Name(), wanted);
  const std::string bytes = Whole(head, file.content, wanted);
  for (const std::string& name : names) {
    const fs::path path = fs::path(name).lexically_normal();
    visit({fmt::format("{}:{}", archive, name), path.generic_string(), FolderName(path), bytes});
  }
}

PassedOver VisitArchive(const std::string& archive, const Wanted& wanted, const Visit& visit) {
  PassedOver passed_over{.others_are = wanted.others};
  passed_over.lost_links = ForEachEntry(archive, [&](const ArchiveFile& file) {
    VisitEntry(archive, file, wanted, visit, passed_over);
  });
  return passed_over;
}

std::optional<FolderSplit> SplitNamed(std::string_view folder) {
  if (folder == "train" || folder == "training") return FolderSplit::kTrain;
  if (folder == "val" || folder == "valid" || folder == "validation")
    return FolderSplit::kValidation;
  if (folder == "test" || folder == "testing") return FolderSplit::kTest;
  return std::nullopt;
}

// Of "photos/val/cat/1.jpg": the first folder above the class's that names a set.
std::optional<FolderSplit> SplitOf(std::string_view path) {
  const size_t file = path.rfind('/');
  const size_t folder = file == path.npos ? path.npos : path.substr(0, file).rfind('/');
  if (folder == path.npos) return std::nullopt;
  for (size_t begin = 0; begin < folder;) {
    const size_t end = std::min(path.find('/', begin), folder);
    if (const auto split = SplitNamed(path.substr(begin, end - begin))) return split;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FolderSplit> SplitsOf(const std::vector<std::string>& paths) {
  std::vector<FolderSplit> splits;
  std::array<bool, 3> holds = {};
  for (const std::string& path : paths) {
    const auto split = SplitOf(path);
    if (split) holds[static_cast<size_t>(*split)] = true;
    splits.push_back(split.value_or(FolderSplit::kTrain));
  }
  if (!holds[0] || std::ranges::count(holds, true) < 2) splits.clear();
  return splits;
}

int32_t ClassOf(const FolderFile& file, ClassLabels& classes, bool optional) {
  Require(IsUtf8(file.folder_name), "{}: the class name '{}' is not UTF-8; rename the folder",
          file.name, file.folder_name);
  const int32_t index = file.folder_name.empty() ? -1 : classes.Index(file.folder_name);
  Require(index >= 0 || optional, "{}: the file lies {}", file.name,
          file.folder_name.empty()
              ? "in no folder that names its class; expected CLASS/FILE"
              : fmt::format("in folder '{}'; expected one of the training classes {}",
                            file.folder_name, classes.Known()));
  return index;
}

std::vector<std::string> PassedOver::Sentences() const {
  std::vector<std::string> sentences;
  const auto add = [&](const FileCount& files, const std::string& one, const std::string& several) {
    if (files.count == 1) sentences.push_back(fmt::format(fmt::runtime(one), OneLine(files.first)));
    if (files.count > 1)
      sentences.push_back(fmt::format(fmt::runtime(several), files.count, OneLine(files.first)));
  };
  add(others, fmt::format("1 file is {} and was passed over: {{}}", others_are),
      fmt::format("{{}} files are {} and were passed over; the first is {{}}", others_are));
  add(lost_links, "1 link leads to no file and was passed over: {}",
      "{} links lead to no file and were passed over; the first is {}");
  add(loops, "1 link leads back to a folder around it and was not followed: {}",
      "{} links lead back to a folder around them and were not followed; the first is {}");
  return sentences;
}

PassedOver ForEachFile(const std::string& path, const OpenPath& open, FileKind kind,
                       const Visit& visit) {
  const Wanted& wanted = WantedFor(kind);
  if (Exists(path) && fs::is_directory(path)) return VisitFolder(path, open, wanted, visit);
  if (IsZip(OpenStored(path)->Next())) return VisitArchive(path, wanted, visit);
  const auto source = open(path);
  const std::string_view head = source->Next();
  if (!wanted.is(head, path)) return VisitArchive(path, wanted, visit);
  visit({path, fs::path(path).filename().string(), "", Whole(path, head, *source, wanted)});
  return {};
}

}  // namespace yoke
