// Walks the directory at a zip archive's end (PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12
// to 4.3.16).
#include "data/archive.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"

namespace yoke {
namespace {

constexpr uint32_t kFull = 0xFFFFFFFF;  // the number stands in the zip64 record

uint64_t LittleEndian(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

class ZipFile {
 public:
  explicit ZipFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    file_.seekg(0, std::ios::end);
    size_ = static_cast<uint64_t>(std::max<std::streamoff>(file_.tellg(), 0));
  }

  // The directory's bytes; empty if there is none.
  std::string Directory() {
    constexpr size_t kEnd = 22, kLongestComment = 0xFFFF, kLocator = 20, kEnd64 = 56;
    const uint64_t tail_bytes = std::min<uint64_t>(size_, kEnd + kLongestComment + kLocator);
    const std::string tail = Read(size_ - tail_bytes, tail_bytes);
    const size_t end = tail.rfind("PK\5\6");
    if (end == tail.npos || end + kEnd > tail.size()) return "";
    uint64_t size = LittleEndian(tail, end + 12, 4), offset = LittleEndian(tail, end + 16, 4);
    if (end >= kLocator && tail.compare(end - kLocator, 4, "PK\6\7") == 0) {
      const std::string end64 = Read(LittleEndian(tail, end - kLocator + 8, 8), kEnd64);
      if (!end64.starts_with("PK\6\6")) Fail();
      size = LittleEndian(end64, 40, 8), offset = LittleEndian(end64, 48, 8);
    }
    return Read(offset, size);
  }

  // Compares an entry of the directory, of `name` and `extra`, with the header before its bytes.
  void Compare(std::string_view entry, std::string_view name, std::string_view extra) {
    constexpr size_t kLocalBytes = 30;
    constexpr uint64_t kCrcFollows = 8;
    const std::string local = Read(OffsetOf(entry, extra), kLocalBytes + name.size());
    if (!local.starts_with("PK\3\4")) Fail();
    const bool same_name =
        LittleEndian(local, 26, 2) == name.size() && local.substr(kLocalBytes) == name;
    Require(same_name,
            "{}: the file '{}' has another name in the archive's directory; expected an "
            "undamaged archive",
            path_, OneLine(name));
    const uint64_t crc = LittleEndian(local, 14, 4);
    const bool follows = (LittleEndian(local, 6, 2) & kCrcFollows) != 0 && crc == 0;
    Require(follows || crc == LittleEndian(entry, 16, 4),
            "{}: the file '{}' has another checksum in the archive's directory; expected an "
            "undamaged archive",
            path_, OneLine(name));
  }

  [[noreturn]] void Fail() const {
    throw UserError(
        fmt::format("{}: the zip archive's directory is damaged; expected a whole one", path_));
  }

 private:
  std::string Read(uint64_t offset, uint64_t size) {
    if (offset > size_ || size > size_ - offset) Fail();
    std::string bytes(size, '\0');
    file_.seekg(static_cast<std::streamoff>(offset));
    if (!file_.read(bytes.data(), static_cast<std::streamsize>(size))) Fail();
    return bytes;
  }

  // Where the header before the bytes is.
  uint64_t OffsetOf(std::string_view entry, std::string_view extra) const {
    const uint64_t offset = LittleEndian(entry, 42, 4);
    if (offset != kFull) return offset;
    while (extra.size() >= 4) {
      const size_t size = LittleEndian(extra, 2, 2);
      if (extra.size() < 4 + size) break;
      size_t at = 4;
      for (const size_t field : {24, 20}) at += LittleEndian(entry, field, 4) == kFull ? 8 : 0;
      if (LittleEndian(extra, 0, 2) == 1 && at + 8 <= 4 + size) return LittleEndian(extra, at, 8);
      extra.remove_prefix(4 + size);
    }
    Fail();
  }

  std::string path_;
  std::ifstream file_;
  uint64_t size_ = 0;
};

}  // namespace

void CheckZipDirectory(const std::string& path) {
  constexpr size_t kEntryBytes = 46;
  ZipFile zip(path);
  const std::string directory = zip.Directory();
  for (std::string_view rest = directory; rest.starts_with("PK\1\2");) {
    if (rest.size() < kEntryBytes) zip.Fail();
    const std::string_view entry = rest.substr(0, kEntryBytes);
    const size_t name = LittleEndian(entry, 28, 2), extra = LittleEndian(entry, 30, 2);
    const size_t all = kEntryBytes + name + extra + LittleEndian(entry, 32, 2);
    if (rest.size() < all) zip.Fail();
    zip.Compare(entry, rest.substr(kEntryBytes, name), rest.substr(kEntryBytes + name, extra));
    rest.remove_prefix(all);
  }
}

}  // namespace yoke
