// ByteSource: the decompressed bytes of a file, piece by piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace yoke {

/// One pass over the bytes of a file. What broke off or is damaged is an error, never an early end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next piece (never empty before the end), valid until the next call; empty at the end.
  /// Throws UserError naming the file when its compressed form is damaged or breaks off.
  virtual std::string_view Next() = 0;
  /// The file as messages name it.
  virtual const std::string& Name() const = 0;
  /// The plain file whose bytes these are (it can be mapped); "" for what is compressed or in
  /// memory.
  virtual std::string PlainPath() const { return ""; }
};

/// Opens a plain file, one compressed by gzip, xz, bzip2 or zstd, or a zip archive that holds one
/// file (told by its content). Throws UserError: missing, a directory, not readable.
std::unique_ptr<ByteSource> OpenSource(const std::string& path);

/// The bytes as they lie in the file, compressed or not. Throws as OpenSource.
std::unique_ptr<ByteSource> OpenStored(const std::string& path);

/// Bytes in memory (tests, fuzzers), handed out in pieces of at most `piece` bytes; `bytes` must
/// outlive it.
std::unique_ptr<ByteSource> MemorySource(std::string_view bytes, std::string name,
                                         size_t piece = 1 << 20);

/// All of a source. Only for what is known to be small: one image, a head.
std::string ReadAll(ByteSource& source);

/// Fills `target` with the next bytes of a source, across its pieces: for binary formats.
class BinaryInput {
 public:
  explicit BinaryInput(ByteSource& source) : source_(&source) {}
  /// Reads up to `size` bytes; fewer only at the end of the file.
  size_t Read(void* target, size_t size);
  /// Bytes read so far: where an error is.
  int64_t Position() const { return position_; }
  const std::string& Name() const { return source_->Name(); }

 private:
  ByteSource* source_;
  std::string_view piece_;
  int64_t position_ = 0;
};

}  // namespace yoke
