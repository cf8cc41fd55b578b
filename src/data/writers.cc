// Reads examples in blocks and formats them; memory does not grow with the data.
#include "data/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/check.h"
#include "data/output_file.h"

namespace yoke {
namespace {

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
