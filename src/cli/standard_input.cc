// Formats read a file twice or by seeks, which a pipe does not allow: hence the copy.
#include "cli/standard_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "data/source.h"

namespace yoke {
namespace {

bool IsFileFromItsBeginning() {
  struct stat status {};
  Require(fstat(STDIN_FILENO, &status) == 0, "standard input cannot be read: {}", ReasonOf(errno));
  return S_ISREG(status.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
}

int NewFile() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  std::string name = folder + "/yoke-input-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0)
    throw Error(
        fmt::format("{}: no temporary file can be made there: {} (TMPDIR names another "
                    "folder)",
                    folder, ReasonOf(errno)));
  unlink(name.c_str());
  return file;
}

// Reads up to a piece; 0 bytes at the end.
std::string_view ReadPiece(std::vector<char>& piece) {
  for (;;) {
    const ssize_t size = read(STDIN_FILENO, piece.data(), piece.size());
    if (size >= 0) return {piece.data(), static_cast<size_t>(size)};
    Require(errno == EINTR, "standard input cannot be read: {}", ReasonOf(errno));
  }
}

void WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      throw Error(fmt::format("no room for standard input in {}: {} (TMPDIR names another folder)",
                              std::filesystem::temp_directory_path().string(), ReasonOf(errno)));
    bytes.remove_prefix(static_cast<size_t>(size));
  }
}

}  // namespace

StandardInput::StandardInput() : file_(IsFileFromItsBeginning() ? -1 : NewFile()) {
  path_ = fmt::format("/proc/self/fd/{}", file_ < 0 ? STDIN_FILENO : file_);
  if (file_ >= 0) Copy();
}

StandardInput::~StandardInput() {
  if (file_ >= 0) close(file_);
}

void StandardInput::Copy() const {
  std::vector<char> piece(1 << 18);
  const int64_t most = MostBytes(STDIN_FILENO);
  int64_t bytes = 0;
  for (std::string_view read; !(read = ReadPiece(piece)).empty();) {
    bytes += static_cast<int64_t>(read.size());
    Require(bytes <= most, "standard input is longer than {} GB; expected a file", most >> 30);
    WriteAll(file_, read);
  }
}

std::string StandardInput::Named(std::string text) const {
  for (size_t at = 0; (at = text.find(path_, at)) != text.npos;)
    text.replace(at, path_.size(), "standard input");
  return text;
}

}  // namespace yoke
