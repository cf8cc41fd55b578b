// Reads files through libarchive, which detects compression by content and reports truncation.
#include "data/source.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "data/archive.h"
#include "data/archive_reader.h"
#include "data/storage.h"

namespace yoke {
namespace {

constexpr size_t kSourcePieceBytes = 1 << 18;
constexpr size_t kMappedPieceBytes = 16 << 20;  // of whole pages

struct CloseStream {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The bytes of a file as stored.
class StoredBytes : public ByteSource {
 public:
  explicit StoredBytes(const std::string& path) : path_(path), piece_(kSourcePieceBytes) {
    Require(Exists(path), "{}: there is no such file", path);
    Require(!std::filesystem::is_directory(path), "{}: this is a directory; expected a file", path);
    file_.reset(std::fopen(path.c_str(), "rb"));
    Require(file_ != nullptr, "{}: cannot be read: {}", path, std::strerror(errno));
    most_ = MostBytes(fileno(file_.get()));
    first_ = Read();
  }

  // The bytes that the first Next() returns.
  std::string_view Head() const { return first_; }

  std::string_view Next() override { return std::exchange(at_start_, false) ? first_ : Read(); }

  const std::string& Name() const override { return path_; }

 private:
  std::string_view Read() {
    const size_t size = std::fread(piece_.data(), 1, piece_.size(), file_.get());
    Require(!std::ferror(file_.get()), "{}: cannot be read: {}", path_, std::strerror(errno));
    most_ -= static_cast<int64_t>(size);
    Require(most_ >= 0, "{}: more than {} GB, and no end of it; expected a file", path_,
            MostBytes(fileno(file_.get())) >> 30);
    return {piece_.data(), size};
  }

  std::string path_;
  std::unique_ptr<std::FILE, CloseStream> file_;
  std::vector<char> piece_;
  int64_t most_ = INT64_MAX;  // bytes that may still come
  std::string_view first_;
  bool at_start_ = true;
};

// A plain file, or one compressed by bzip2, xz or zstd.
class FileSource : public ByteSource {
 public:
  explicit FileSource(std::unique_ptr<ByteSource> stored)
      : reader_(std::move(stored), ArchiveReader::Content::kOneFile),
        ended_(!reader_.NextEntry()) {}

  std::string_view Next() override {
    if (ended_) return {};
    const std::string_view piece = reader_.Next();
    ended_ = piece.empty();
    return piece;
  }

  const std::string& Name() const override { return reader_.Name(); }
  std::string PlainPath() const override { return reader_.IsCompressed() ? "" : Name(); }

 private:
  ArchiveReader reader_;
  bool ended_;
};

class BytesInMemory : public ByteSource {
 public:
  BytesInMemory(std::string_view bytes, std::string name, size_t piece)
      : rest_(bytes), name_(std::move(name)), piece_(piece) {}

  std::string_view Next() override {
    const std::string_view result = rest_.substr(0, piece_);
    rest_.remove_prefix(result.size());
    return result;
  }

  const std::string& Name() const override { return name_; }

 private:
  std::string_view rest_;
  std::string name_;
  size_t piece_;
};

// A plain file's pages, which are dropped behind the reader.
class MappedBytes : public ByteSource {
 public:
  explicit MappedBytes(const std::string& path)
      : path_(path), pages_(MapFile(path)), rest_(pages_.bytes) {}

  std::string_view Next() override {
    if (!last_.empty()) madvise(const_cast<char*>(last_.data()), last_.size(), MADV_DONTNEED);
    last_ = rest_.substr(0, kMappedPieceBytes);
    rest_.remove_prefix(last_.size());
    return last_;
  }

  const std::string& Name() const override { return path_; }
  std::string PlainPath() const override { return path_; }

 private:
  std::string path_;
  SharedBytes pages_;
  std::string_view rest_, last_;
};

}  // namespace

int64_t MostBytes(int descriptor) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode)) return INT64_MAX;
  return S_ISCHR(status.st_mode) ? kGiB : 64 * kGiB;
}

bool CanReopen(const std::string& path) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(path, unknown).type();
  using Kind = std::filesystem::file_type;
  return kind != Kind::fifo && kind != Kind::character && kind != Kind::socket;
}

std::unique_ptr<ByteSource> OpenStored(const std::string& path) {
  return std::make_unique<StoredBytes>(path);
}

std::unique_ptr<ByteSource> OpenSource(const std::string& path) {
  auto stored = std::make_unique<StoredBytes>(path);
  if (IsGzip(stored->Head())) return Gunzip(std::move(stored));
  if (IsZip(stored->Head())) return OpenOnlyEntry(path);
  return std::make_unique<FileSource>(std::move(stored));
}

std::unique_ptr<ByteSource> Mapped(std::unique_ptr<ByteSource> source) {
  const std::string path = source->PlainPath();
  if (path.empty() || !std::filesystem::is_regular_file(path)) return source;
  return std::make_unique<MappedBytes>(path);
}

std::unique_ptr<ByteSource> MemorySource(std::string_view bytes, std::string name, size_t piece) {
  return std::make_unique<BytesInMemory>(bytes, std::move(name), piece);
}

std::string ReadAll(ByteSource& source) {
  std::string all;
  for (std::string_view piece = source.Next(); !piece.empty(); piece = source.Next()) all += piece;
  return all;
}

size_t BinaryInput::Read(void* target, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (piece_.empty()) piece_ = source_->Next();
    if (piece_.empty()) break;
    const size_t count = std::min(size - done, piece_.size());
    std::memcpy(static_cast<char*>(target) + done, piece_.data(), count);
    piece_.remove_prefix(count);
    done += count;
  }
  position_ += static_cast<int64_t>(done);
  return done;
}

}  // namespace yoke
