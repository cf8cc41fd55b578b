// Archives: the entries of tar and zip files, by libarchive.
// Links are resolved in a second pass: a tar archive has no directory, and a link's target may be
// anywhere in it.
#include "data/archive.h"

#include <archive.h>
#include <fmt/core.h>
#include <jconfig.h>
#include <png.h>
#include <zlib.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/check.h"
#include "data/archive_reader.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;
using MemberKind = ArchiveReader::Kind;
using VisitFile = std::function<void(const ArchiveFile&)>;
using Links = std::map<std::string, std::string>;  // link -> target path

// The current entry of a reader as bytes.
class EntrySource : public ByteSource {
 public:
  explicit EntrySource(ArchiveReader& reader)
      : reader_(reader), name_(reader.Name() + ":" + reader.EntryName()) {}
  std::string_view Next() override { return reader_.Next(); }
  const std::string& Name() const override { return name_; }

 private:
  ArchiveReader& reader_;
  std::string name_;
};

bool GoToData(ArchiveReader& reader) {
  while (reader.NextEntry())
    if (reader.EntryKind() == MemberKind::kFile && !IsHidden(reader.EntryName())) return true;
  return false;
}

class OnlyEntry : public ByteSource {
 public:
  explicit OnlyEntry(const std::string& path) : reader_(path, ArchiveReader::Content::kArchive) {
    Check(GoToData(reader_), "the archive's file is gone");
  }
  std::string_view Next() override { return reader_.Next(); }
  const std::string& Name() const override { return reader_.Name(); }

 private:
  ArchiveReader reader_;
};

std::unique_ptr<ArchiveReader> OpenArchive(const std::string& path) {
  auto stored = OpenStored(path);
  if (IsGzip(stored->Next()))
    return std::make_unique<ArchiveReader>(Gunzip(OpenStored(path)),
                                           ArchiveReader::Content::kArchive);
  return std::make_unique<ArchiveReader>(path, ArchiveReader::Content::kArchive);
}

// A tar archive ends in two blocks of zeros, which libarchive does not require. In an uncompressed
// archive only they show that it was not cut between two files.
void RequireEndMark(const std::string& path) {
  constexpr std::streamoff kMarkBytes = 1024;
  std::array<char, kMarkBytes> mark;
  std::ifstream file(path, std::ios::binary);
  file.seekg(-kMarkBytes, std::ios::end);
  const bool complete = file.read(mark.data(), kMarkBytes) &&
                        std::all_of(mark.begin(), mark.end(), [](char c) { return c == 0; });
  Require(complete, "{}: the archive is truncated; expected its end mark (1,024 zero bytes)", path);
}

std::string Normalized(const fs::path& path) { return path.lexically_normal().generic_string(); }

// A hard link names a path in the archive, a symbolic link a path relative to itself.
std::string PathBehind(const ArchiveReader& link, const std::string& name) {
  const fs::path target = link.LinkTarget();
  return Normalized(
      link.EntryKind() == MemberKind::kHardLink ? target : fs::path(name).parent_path() / target);
}

Links VisitFiles(const std::string& path, const VisitFile& visit) {
  Links links;
  const auto reader = OpenArchive(path);
  while (reader->NextEntry()) {
    const std::string name = reader->EntryName();
    const MemberKind kind = reader->EntryKind();
    if (kind == MemberKind::kFile) {
      EntrySource content(*reader);
      visit({{name}, reader->EntrySize(), content});
    } else if (kind != MemberKind::kOther && !IsHidden(name)) {
      links[Normalized(name)] = PathBehind(*reader, name);
    }
  }
  if (reader->IsPlainTar()) RequireEndMark(path);
  return links;
}

// Follows a chain of links to its end.
std::string EndOf(const Links& links, std::string path) {
  constexpr int kMostSteps = 40;  // the limit of Linux
  for (int step = 0; step < kMostSteps; ++step) {
    const auto next = links.find(path);
    if (next == links.end()) break;
    path = next->second;
  }
  return path;
}

FileCount VisitLinked(const std::string& path, const Links& links, const VisitFile& visit) {
  std::map<std::string, std::vector<std::string>> wanted;  // file -> the links to it
  for (const auto& [name, target] : links) wanted[EndOf(links, target)].push_back(name);
  const auto reader = OpenArchive(path);
  while (!wanted.empty() && reader->NextEntry()) {
    if (reader->EntryKind() != MemberKind::kFile) continue;
    const auto found = wanted.extract(Normalized(reader->EntryName()));
    if (found.empty()) continue;
    EntrySource content(*reader);
    visit({found.mapped(), reader->EntrySize(), content});
  }
  FileCount lost;
  for (const auto& [target, names] : wanted)
    for (const std::string& name : names) lost.Add(name);
  return lost;
}

}  // namespace

void FileCount::Add(const std::string& name) {
  if (count++ == 0 || name < first) first = name;
}

bool IsHidden(const std::string& path) {
  const fs::path parts(path);
  return std::any_of(parts.begin(), parts.end(), [](const fs::path& part) {
    const std::string name = part.string();
    return (name.starts_with(".") && name != "." && name != "..") || name == "__MACOSX";
  });
}

bool IsZip(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
}

std::unique_ptr<ByteSource> OpenOnlyEntry(const std::string& path) {
  CheckZipDirectory(path);
  ArchiveReader reader(path, ArchiveReader::Content::kArchive);
  int64_t files = 0;
  while (GoToData(reader)) ++files;
  Require(files == 1, "{}: the zip archive holds {} files; expected one", path, files);
  return std::make_unique<OnlyEntry>(path);
}

FileCount ForEachEntry(const std::string& path, const VisitFile& visit) {
  if (IsZip(OpenStored(path)->Next())) CheckZipDirectory(path);
  const Links links = VisitFiles(path, visit);
  return links.empty() ? FileCount() : VisitLinked(path, links, visit);
}

std::vector<std::pair<std::string, std::string>> DataLibraries() {
  const int archive = archive_version_number();   // 3006002 is 3.6.2
  const int jpeg = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005 is 2.1.5
  auto dotted = [](int version) {
    return fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
  };
  return {{"libarchive", dotted(archive)},
          {"libjpeg-turbo", dotted(jpeg)},
          {"libpng", png_get_libpng_ver(nullptr)},
          {"zlib", zlibVersion()}};
}

}  // namespace yoke
