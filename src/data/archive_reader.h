// ArchiveReader: libarchive as a class whose errors name the file.
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

/// Reads a file compressed by bzip2, xz or zstd, archive or not, from front to back. Every method
/// throws UserError with the file if it is damaged or truncated.
class ArchiveReader {
 public:
  enum class Content {
    kOneFile,  ///< Any bytes, as one entry; an empty file has none.
    kArchive,  ///< tar, or zip if the file is seekable.
  };
  enum class Kind { kFile, kHardLink, kSymbolicLink, kOther };

  /// Opens the file at `path`, with seeks if it is seekable.
  ArchiveReader(const std::string& path, Content content);
  /// The bytes of `source`.
  ArchiveReader(std::unique_ptr<ByteSource> source, Content content);
  ArchiveReader(const ArchiveReader&) = delete;  // libarchive holds our address
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  /// Goes to the next entry and skips the rest of this one; false at the end.
  bool NextEntry();
  /// The type of the entry. A hard link with content is a file.
  Kind EntryKind() const;
  std::string EntryName() const;
  /// The target of a link, as written.
  std::string LinkTarget() const;
  /// Bytes of the entry; -1: unknown until it is read.
  int64_t EntrySize() const;
  /// The next piece of the entry's content; empty at its end.
  std::string_view Next();

  bool IsCompressed() const;
  /// Whether it is an uncompressed tar archive.
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
  std::exception_ptr failure_;  // from the source, while libarchive reads
  std::unique_ptr<archive, Close> archive_;
  archive_entry* entry_ = nullptr;
  std::vector<char> piece_;  // of the entry's content
};

}  // namespace yoke
