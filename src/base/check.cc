// Errors: the place is added to the sentence; the system's words, and ours where they do not help.
#include "base/check.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

namespace yoke {

void Check(bool condition, std::string_view sentence, const char* file, int line) {
  if (!condition) throw Error(fmt::format("{} ({}:{})", sentence, file, line));
}

std::string ReasonOf(int error) {
  if (error == 0) return "is the disk full?";
  if (error == ENOSPC || error == EDQUOT)
    return fmt::format("{} (make room)", std::strerror(error));
  if (error == EMFILE)
    return fmt::format("{} (raise the limit: `ulimit -n 4096`)", std::strerror(error));
  if (error == EFBIG)
    return "the file would exceed the limit on file sizes; raise the limit (`ulimit -f unlimited`)";
  return std::strerror(error);
}

}  // namespace yoke
