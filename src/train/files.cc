// Files: written completely or not at all.
#include "train/files.h"

#include <fcntl.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/random.h"

namespace yoke {
namespace {

constexpr size_t kDigits = 16;

[[noreturn]] void Fail(const std::string& what, const std::string& path) {
  throw Error(fmt::format("cannot {} {}: {}", what, path, ReasonOf(errno)));
}

/// Owns a file descriptor.
class File {
 public:
  /// Does not wait for the other end of a pipe.
  File(const std::string& path, int flags)
      : number_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { Close(); }
  bool Close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || close(number) == 0;
  }
  int number() const { return number_; }

 private:
  int number_;
};

/// The size of a regular file that was opened for reading.
size_t CheckReadable(const File& file, const std::string& path) {
  if (file.number() < 0 && errno == ENOENT)
    throw DamagedError(fmt::format("cannot read {}: it is missing", path));
  Require(file.number() >= 0, "cannot read {}: {}", path, std::strerror(errno));
  struct stat info = {};
  Require(fstat(file.number(), &info) == 0, "cannot read {}: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw DamagedError(path + " is not a regular file");
  return static_cast<size_t>(info.st_size);
}

void WriteAll(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) Fail("write", path);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

std::atomic<int> scratch_files = 0;  // ScratchFiles that exist

bool Synchronise(int file) { return scratch_files > 0 || fsync(file) == 0; }

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// Mixes one word in. The mixer is one-to-one, so any altered word alters the checksum.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  return Random::Mix(hash ^ word) + 0x9E3779B97F4A7C15ULL;
}

void Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) Fail("rename a file to", to);
  SyncFolder(FolderOf(to));
}

/// make(name) makes something beside `path`, which then takes its place.
template <typename Make>
void Replace(const std::string& path, const Make& make) {
  const std::string aside = NameBeside(path);
  try {
    make(aside);
    Rename(aside, path);
  } catch (...) {
    unlink(aside.c_str());
    throw;
  }
}

}  // namespace

ScratchFiles::ScratchFiles() { ++scratch_files; }
ScratchFiles::~ScratchFiles() { --scratch_files; }

std::string ReadWhole(const std::string& path) {
  File file(path, O_RDONLY);
  std::string bytes(CheckReadable(file, path), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file.number(), bytes.data() + have, bytes.size() - have);
    Require(got >= 0 || errno == EINTR, "cannot read {}: {}", path, std::strerror(errno));
    if (got == 0) break;
    if (got > 0) have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

SharedBytes MapWhole(const std::string& path) {
  const File file(path, O_RDONLY);
  const size_t size = CheckReadable(file, path);
  if (size == 0) return {};
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED) Fail("map", path);
  madvise(memory, size, MADV_SEQUENTIAL);
  return {{static_cast<const char*>(memory), size},
          {memory, [size](void* mapped) { munmap(mapped, size); }}};
}

std::string ReadOwn(const std::string& path) { return Exists(path) ? ReadWhole(path) : ""; }

Value ReadOwnToml(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  Require(!exists(status) || is_regular_file(status), "{} is not a regular file", path);
  return ReadToml(path);
}

void DropPages(std::string_view part) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (begin + page - 1) / page * page,
                  last = (begin + part.size()) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void WriteDurably(const std::string& path, std::string_view bytes) {
  WriteDurably(path, {&bytes, 1});
}

void WriteDurably(const std::string& path, std::span<const std::string_view> pieces) {
  File file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (file.number() < 0) Fail("write", path);
  for (std::string_view piece : pieces) WriteAll(file.number(), piece, path);
  if (!Synchronise(file.number()) || !file.Close()) Fail("write", path);
}

void SyncFolder(const std::string& folder) {
  File file(folder, O_RDONLY | O_DIRECTORY);
  if (file.number() < 0 || !Synchronise(file.number())) Fail("synchronise", folder);
}

void ReplaceFile(const std::string& path, std::string_view bytes) {
  Replace(path, [&](const std::string& aside) { WriteDurably(aside, bytes); });
}

void ReplaceLink(const std::string& path, const std::string& target) {
  Replace(path, [&](const std::string& aside) {
    if (symlink(target.c_str(), aside.c_str()) != 0) Fail("make the link", aside);
  });
}

void ReplaceFolder(const std::string& from, const std::string& to) {
  if (!std::filesystem::exists(to)) return Rename(from, to);
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    SyncFolder(FolderOf(to));
    std::filesystem::remove_all(from);
  } else {  // the file system cannot exchange folders
    std::filesystem::remove_all(to);
    Rename(from, to);
  }
}

void Checksum::Add(std::string_view piece) {
  while (!piece.empty()) {
    for (; filled_ == 0 && piece.size() >= sizeof word_; piece.remove_prefix(sizeof word_)) {
      uint64_t whole = 0;
      std::memcpy(&whole, piece.data(), sizeof whole);
      hash_ = Mixed(hash_, whole);
    }
    const size_t take = std::min(piece.size(), sizeof word_ - filled_);
    std::memcpy(reinterpret_cast<char*>(&word_) + filled_, piece.data(), take);
    piece.remove_prefix(take);
    filled_ += take;
    if (filled_ < sizeof word_) continue;
    hash_ = Mixed(hash_, word_);
    word_ = filled_ = 0;
  }
}

std::string Checksum::Text() const {
  return fmt::format("{:016x}", filled_ > 0 ? Mixed(hash_, word_) : hash_);
}

std::string ChecksumOf(std::string_view bytes) {
  return ChecksumOf(std::span<const std::string_view>(&bytes, 1));
}

std::string ChecksumOf(std::span<const std::string_view> pieces) {
  uint64_t bytes = 0;
  for (std::string_view piece : pieces) bytes += piece.size();
  Checksum checksum(bytes);
  for (std::string_view piece : pieces) checksum.Add(piece);
  return checksum.Text();
}

void Seal(std::string& bytes, size_t at) {
  bytes.replace(at, kDigits, std::string(kDigits, '0'));
  bytes.replace(at, kDigits, ChecksumOf(bytes));
}

bool SealHolds(std::string& bytes, size_t at) {
  const std::string said = bytes.substr(at, kDigits);
  if (said.size() != kDigits) return false;
  Seal(bytes, at);
  const bool holds = bytes.compare(at, kDigits, said) == 0;
  bytes.replace(at, kDigits, said);
  return holds;
}

}  // namespace yoke
