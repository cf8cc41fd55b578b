// OutputFile by write, fsync and rename. Examples are read in blocks: memory does not grow with the
// data.
#include "data/writers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
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

constexpr int64_t kReadAtOnce = 1024;  // examples read at once

void ForEachBlock(const Reader& reader, const std::function<void(const Batch&)>& visit) {
  Batch batch;
  std::vector<int64_t> examples;
  for (int64_t first = 0; first < reader.Size(); first += kReadAtOnce) {
    examples.resize(std::min(kReadAtOnce, reader.Size() - first));
    std::iota(examples.begin(), examples.end(), first);
    reader.Read({.examples = examples}, batch);
    visit(batch);
  }
}

void AppendXmcLine(const SparseRows& labels, const SparseRows& rows, int64_t i,
                   fmt::memory_buffer& text) {
  auto out = std::back_inserter(text);
  for (int64_t j = labels.offsets[i]; j < labels.offsets[i + 1]; ++j)
    fmt::format_to(out, "{}{}", j > labels.offsets[i] ? "," : "", labels.ids[j]);
  for (int64_t j = rows.offsets[i]; j < rows.offsets[i + 1]; ++j)
    fmt::format_to(out, " {}:{}", rows.ids[j], rows.values ? rows.values[j] : 1.0F);
  if (rows.offsets[i] == rows.offsets[i + 1]) text.push_back(' ');
  text.push_back('\n');
}

/// Appends a number of an idx file's header: four bytes, big-endian.
void AppendBigEndian(int64_t number, std::string& text) {
  for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(number >> shift));
}

std::string IdxHead(std::initializer_list<int64_t> axes) {
  std::string head = {0, 0, 8, static_cast<char>(axes.size())};  // 8: unsigned bytes
  for (const int64_t axis : axes) AppendBigEndian(axis, head);
  return head;
}

/// Undoes a reader's normalization: returns the stored byte of `value`.
char RawByte(float value, const Normalization& normalization) {
  const double mean = normalization.mean.empty() ? 0 : normalization.mean[0];
  const double deviation = normalization.deviation.empty() ? 1 : normalization.deviation[0];
  const double raw = std::round((value * deviation + mean) / normalization.scale);
  return static_cast<char>(static_cast<uint8_t>(std::clamp(raw, 0.0, 255.0)));
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

int64_t WriteXmc(const Reader& reader, const std::string& path) {
  const DataInfo& info = reader.Info();
  Require(info.sparse && info.multi_label,
          "{}: XMC text holds sparse examples with several labels; this data is of another kind",
          path);
  OutputFile file(path);
  file.Write(fmt::format("{} {} {}\n", reader.Size(), info.input[0], info.outputs));
  fmt::memory_buffer text;
  ForEachBlock(reader, [&](const Batch& batch) {
    text.clear();
    const SparseRows labels = batch.labels.View(), rows = batch.sparse.View();
    for (int64_t i = 0; i < batch.size; ++i) AppendXmcLine(labels, rows, i, text);
    file.Write({text.data(), text.size()});
  });
  file.Commit();
  return file.bytes();
}

void WriteIdx(const Reader& reader, const std::string& images_path,
              const std::string& labels_path) {
  const DataInfo& info = reader.Info();
  Require(!info.sparse && !info.multi_label && info.labelled && info.outputs <= 256 &&
              info.input.rank() == 3 && info.input[0] == 1,
          "{}: idx files are written of grey images with up to 256 classes; this data is of "
          "another kind",
          images_path);
  OutputFile images(images_path), labels(labels_path);
  images.Write(IdxHead({reader.Size(), info.input[1], info.input[2]}));
  labels.Write(IdxHead({reader.Size()}));
  std::string bytes;
  ForEachBlock(reader, [&](const Batch& batch) {
    const float* values = batch.dense.As<float>();
    bytes.resize(batch.dense.Count());
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = RawByte(values[i], info.normalization);
    images.Write(bytes);
    labels.Write(std::string(batch.classes.begin(), batch.classes.end()));
  });
  images.Commit();
  labels.Commit();
}

}  // namespace yoke
