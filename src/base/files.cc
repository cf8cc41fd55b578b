// Files: how they are opened, named and locked. On opening, O_NONBLOCK returns at once from a pipe,
// and the open file itself tells what it is. A new file's name has 64 bits from the system's
// generator. A temporary folder is locked by its process, so that one without a lock is left over.
#include "base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"

namespace yoke {
namespace {

bool IsRegular(int file) {
  struct stat status = {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".new";
constexpr size_t kDigits = 16;
constexpr size_t kLetters = 6;  // that mkdtemp chooses

int OpenFolder(const std::string& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Removes a folder of this user whose process has ended.
void RemoveIfLeft(const std::string& folder) {
  const int lock = OpenFolder(folder);
  if (lock < 0) return;
  struct stat there = {};
  std::error_code ignored;
  if (fstat(lock, &there) == 0 && there.st_uid == geteuid() && flock(lock, LOCK_EX | LOCK_NB) == 0)
    fs::remove_all(folder, ignored);
  close(lock);
}

void RemoveLeft(const fs::path& parent, const std::string& start) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.size() == start.size() + kLetters && name.starts_with(start))
      RemoveIfLeft(entry.path());
  }
}

}  // namespace

int OpenRegular(const std::string& path, int flags) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  const int file = open(path.c_str(), flags | kFlags, 0644);
  Require(file >= 0 || errno != ELOOP, "{} is a link; expected a file", path);
  Require(file >= 0, "cannot write {}: {}", path, ReasonOf(errno));
  if (IsRegular(file)) return file;
  close(file);
  throw UserError(path + " is a pipe or a device; expected a file");
}

bool Exists(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  Require(fs::status_known(status), "{}: cannot be read: {}", path, error.message());
  return fs::exists(status);
}

std::string NameBeside(const std::string& path) {
  uint64_t bits = 0;
  Check(getrandom(&bits, sizeof bits, 0) == sizeof bits, "the system has no random numbers");
  return fmt::format("{}.{:0{}x}{}", path, bits, kDigits, kEnd);
}

std::string_view OriginOf(std::string_view name) {
  constexpr size_t kMark = 1 + kDigits + kEnd.size();
  if (name.size() <= kMark || !name.ends_with(kEnd)) return {};
  const std::string_view origin = name.substr(0, name.size() - kMark);
  const std::string_view digits = name.substr(origin.size() + 1, kDigits);
  const bool made =
      name[origin.size()] == '.' && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  return made ? origin : std::string_view();
}

bool IsLink(const std::string& path) {
  std::error_code none;
  return fs::is_symlink(path, none);
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
  const fs::path parent = fs::temp_directory_path();
  RemoveLeft(parent, name + "-");
  std::string hidden = (parent / fmt::format(".{}-{}", name, std::string(kLetters, 'X'))).string();
  if (!mkdtemp(hidden.data()))
    throw Error(fmt::format("cannot make a folder in {}: {}", parent.string(), ReasonOf(errno)));
  // Locked before it has its name: no other process takes it for one that is left. Where there are
  // no locks, none is ever taken.
  lock_ = OpenFolder(hidden);
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
  path_ = parent / fs::path(hidden).filename().native().substr(1);
  if (rename(hidden.c_str(), path_.c_str()) != 0) path_ = hidden;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace yoke
