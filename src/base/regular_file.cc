// O_NONBLOCK returns at once from a pipe, and the open file itself tells what it is.
#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/reason.h"

namespace yoke {
namespace {

bool IsRegular(int file) {
  struct stat status = {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
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

}  // namespace yoke
