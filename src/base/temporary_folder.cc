// Temporary folders: each is locked by its process, so that one without a lock is left over.
#include "base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/reason.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

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
