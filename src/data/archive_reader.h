// ArchiveReader: libarchive as an object whose errors are sentences that name the file.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

struct archive;
struct archive_entry;

namespace yoke {

/// Reads what bzip2, xz or zstd compresses, archive or not, from front to back. Every method throws
/// UserError naming the file when it is damaged or breaks off.
class ArchiveReader {
 public:
  enum class Content {
    kOneFile,  ///< Any bytes, as one entry; an empty file has none.
    kArchive,  ///< tar, or zip where the file can be sought in
  };
  enum class Kind { kFile, kHardLink, kSymbolicLink, kOther };

  /// The file at `path`, which is sought in where that helps.
  ArchiveReader(const std::string& path, Content content);
  /// The bytes of `source`.
  ArchiveReader(std::unique_ptr<ByteSource> source, Content content);
  ArchiveReader(const ArchiveReader&) = delete;  // libarchive knows our address
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  /// Goes to the next entry, over what is left of this one; false at the end.
  bool NextEntry();
  /// What the entry is. A hard link that brings its content along is a file.
  Kind EntryKind() const;
  std::string EntryName() const;
  /// What a link leads to, as it stands there.
  std::string LinkTarget() const;
  /// Bytes of the entry; -1: unknown before they are read.
  int64_t EntrySize() const;
  /// The next piece of the entry's content; empty at its end.
  std::string_view Next();

  bool IsCompressed() const;
  /// A tar archive that nothing compresses.
  bool IsPlainTar() const;
  const std::string& Name() const { return name_; }

 private:
  struct Close {
    void operator()(archive* a) const;
  };

  ArchiveReader(Content content, std::string name);
  [[noreturn]] void Fail() const;
  std::string Converted(const char* native, const char* utf8) const;

  std::string name_;
  std::unique_ptr<ByteSource> source_;
  std::exception_ptr failure_;  // of the source, while libarchive was reading it
  std::unique_ptr<archive, Close> archive_;
  archive_entry* entry_ = nullptr;
  std::vector<char> piece_;  // of the entry's content
};

}  // namespace yoke
