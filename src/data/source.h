// ByteSource: the decompressed bytes of a file, piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace yoke {

/// One pass over the bytes of a file. A truncated or damaged file is an error, never an early end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next piece, valid until the next call; empty only at the end. Throws UserError with the
  /// file if its compressed form is damaged or truncated.
  virtual std::string_view Next() = 0;
  /// The file's name in messages.
  virtual const std::string& Name() const = 0;
  /// The path if it is a plain file, which can be mapped; "" for compressed files and memory.
  virtual std::string PlainPath() const { return ""; }
};

/// Opens a plain file, one compressed by gzip, xz, bzip2 or zstd, or a zip archive with one file
/// (detected by content). Throws UserError if it is missing, a directory, or not readable.
std::unique_ptr<ByteSource> OpenSource(const std::string& path);

/// The most bytes read from the open file `descriptor`, whose end may never come: INT64_MAX for a
/// regular file, 64 GiB for a pipe, 1 GiB for a device.
int64_t MostBytes(int descriptor);

/// Whether a path can be opened again from its beginning, which a pipe or terminal cannot.
bool CanReopen(const std::string& path);

/// The same source, or the pages of the file in large pieces where it is a plain one.
std::unique_ptr<ByteSource> Mapped(std::unique_ptr<ByteSource> source);

/// The stored bytes of a file, without decompression. Throws like OpenSource.
std::unique_ptr<ByteSource> OpenStored(const std::string& path);

/// A source of bytes in memory (tests, fuzzers), in pieces of at most `piece` bytes. `bytes` must
/// outlive it.
std::unique_ptr<ByteSource> MemorySource(std::string_view bytes, std::string name,
                                         size_t piece = 1 << 20);

/// Reads all of a source. Only for small files: an image, a header.
std::string ReadAll(ByteSource& source);

/// Reads binary formats from a source, across its pieces.
class BinaryInput {
 public:
  explicit BinaryInput(ByteSource& source) : source_(&source) {}
  /// Reads `size` bytes, or fewer at the end of the file.
  size_t Read(void* target, size_t size);
  /// Bytes read so far, for error messages.
  int64_t Position() const { return position_; }
  const std::string& Name() const { return source_->Name(); }

 private:
  ByteSource* source_;
  std::string_view piece_;
  int64_t position_ = 0;
};

}  // namespace yoke
