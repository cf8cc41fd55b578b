// Reads files through libarchive: it tells the compression by content and reports what breaks off.
#include "data/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/check.h"

namespace yoke {
namespace {

constexpr size_t kBlockBytes = 1 << 18;

struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

[[noreturn]] void FailReading(archive* a, const std::string& path) {
  const char* reason = archive_error_string(a);
  throw UserError(fmt::format("{}: the file is damaged or breaks off ({}); expected a whole one",
                              path, reason ? reason : "no reason given"));
}

void RequireFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  Require(fs::exists(status), "{}: there is no such file", path);
  Require(!fs::is_directory(status), "{}: this is a directory; expected a file", path);
  Require(access(path.c_str(), R_OK) == 0, "{}: cannot be read: {}", path, std::strerror(errno));
}

Archive NewArchive() {
  Archive a(archive_read_new());
  Check(a != nullptr, "libarchive has no memory");
  archive_read_support_filter_gzip(a.get());
  archive_read_support_filter_bzip2(a.get());
  archive_read_support_filter_xz(a.get());
  archive_read_support_filter_zstd(a.get());
  return a;
}

void OpenArchive(archive* a, const std::string& path) {
  RequireFile(path);
  if (archive_read_open_filename(a, path.c_str(), kBlockBytes) != ARCHIVE_OK) FailReading(a, path);
}

// The next header; null at the end.
archive_entry* NextEntry(archive* a, const std::string& path) {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(a, &entry);
  if (status == ARCHIVE_EOF) return nullptr;
  if (status < ARCHIVE_WARN) FailReading(a, path);
  return entry;
}

// The next piece of the current entry; empty at its end.
std::string_view NextBlock(archive* a, const std::string& path) {
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  int status = ARCHIVE_OK;
  do {
    status = archive_read_data_block(a, &data, &size, &offset);
  } while (status >= ARCHIVE_WARN && status != ARCHIVE_EOF && size == 0);
  if (status == ARCHIVE_EOF) return {};
  if (status < ARCHIVE_WARN) FailReading(a, path);
  return {static_cast<const char*>(data), size};
}

// A tar archive ends in two blocks of zeros. libarchive does not miss them; where nothing
// compresses the archive, nothing else tells that it was cut between two files.
void RequireEndMark(archive* a, const std::string& path) {
  constexpr std::streamoff kMarkBytes = 1024;
  if (archive_filter_code(a, 0) != ARCHIVE_FILTER_NONE) return;
  std::array<char, kMarkBytes> mark;
  std::ifstream file(path, std::ios::binary);
  file.seekg(-kMarkBytes, std::ios::end);
  const bool complete = file.read(mark.data(), kMarkBytes) &&
                        std::all_of(mark.begin(), mark.end(), [](char c) { return c == 0; });
  Require(complete, "{}: the archive breaks off; expected its end mark (1,024 zero bytes)", path);
}

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path), archive_(NewArchive()) {
    archive_read_support_format_raw(archive_.get());
    archive_read_support_format_empty(archive_.get());
    OpenArchive(archive_.get(), path);
    ended_ = NextEntry(archive_.get(), path) == nullptr;
  }

  std::string_view Next() override {
    if (ended_) return {};
    const std::string_view piece = NextBlock(archive_.get(), path_);
    ended_ = piece.empty();
    return piece;
  }

  const std::string& Name() const override { return path_; }

  std::string PlainPath() const override {
    return archive_filter_code(archive_.get(), 0) == ARCHIVE_FILTER_NONE ? path_ : "";
  }

 private:
  std::string path_;
  Archive archive_;
  bool ended_ = false;
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

}  // namespace

std::unique_ptr<ByteSource> OpenSource(const std::string& path) {
  return std::make_unique<FileSource>(path);
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

void ForEachEntry(
    const std::string& path,
    const std::function<void(const std::string& name, std::string_view bytes)>& visit) {
  const Archive a = NewArchive();
  archive_read_support_format_tar(a.get());
  OpenArchive(a.get(), path);
  std::string bytes;
  while (archive_entry* entry = NextEntry(a.get(), path)) {
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const std::string name = archive_entry_pathname(entry);
    bytes.clear();
    for (std::string_view block; !(block = NextBlock(a.get(), path)).empty();) bytes += block;
    visit(name, bytes);
  }
  RequireEndMark(a.get(), path);
}

}  // namespace yoke
