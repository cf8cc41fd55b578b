// OutputFile by write, fsync and rename.
#include "data/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/files.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the system follows

/// Where a path leads: the links' last target, which need not exist.
std::string Followed(fs::path path) {
  std::error_code none;
  for (int links = 0; links < kMostLinks && IsLink(path); ++links)
    path = path.parent_path() / fs::read_symlink(path, none);
  return path;
}

/// Standard output or standard error, if that is this file (/dev/stdout); or -1.
int StandardStream(const struct stat& there) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat its = {};
    if (fstat(stream, &its) == 0 && its.st_dev == there.st_dev && its.st_ino == there.st_ino)
      return fcntl(stream, F_DUPFD_CLOEXEC, 0);
  }
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat there = {};
  const bool exists = stat(path_.c_str(), &there) == 0;
  if (exists) file_ = StandardStream(there);
  if (file_ < 0 && exists && (S_ISCHR(there.st_mode) || S_ISFIFO(there.st_mode))) {
    file_ = open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } else if (file_ < 0) {
    Require(!exists || S_ISREG(there.st_mode),
            "{}: cannot be written: expected a file, a device or a pipe, and it is a {}", path_,
            S_ISDIR(there.st_mode)    ? "folder"
            : S_ISSOCK(there.st_mode) ? "socket"
                                      : "disk");
    target_ = Followed(path_);
    aside_ = NameBeside(target_);
    file_ = open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0 && exists) fchmod(file_, there.st_mode);
  }
  Require(file_ >= 0, "{}: cannot be written: {}", path_, ReasonOf(errno));
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  close(file_);
  if (!aside_.empty()) unlink(aside_.c_str());
}

void OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail();
    bytes_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::Commit() {
  if (!aside_.empty() && (fsync(file_) != 0 || std::rename(aside_.c_str(), target_.c_str()) != 0))
    Fail();
  close(file_);
  file_ = -1;
}

void OutputFile::Fail() const {
  throw Error(fmt::format("{}: cannot be written: {}", path_, ReasonOf(errno)));
}

}  // namespace yoke
