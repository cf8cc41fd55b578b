// OutputFile by write, fsync and rename.
#include "data/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/check.h"

namespace yoke {
namespace {

std::string Reason() { return std::generic_category().message(errno); }

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), aside_(fmt::format("{}.partial-{}", path_, getpid())) {
  file_ = open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  Require(file_ >= 0, "{}: cannot be written: {}", path_, Reason());
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(aside_.c_str());
}

void OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail();
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::Commit() {
  // A device such as /dev/null cannot be synchronised; anything else must be.
  if (fsync(file_) != 0 && errno != EINVAL) Fail();
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) Fail();
  close(file_);
  file_ = -1;
}

void OutputFile::Fail() const {
  throw Error(fmt::format("{}: cannot be written: {}", path_, Reason()));
}

}  // namespace yoke
