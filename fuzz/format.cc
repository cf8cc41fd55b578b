// What FuzzFormat insists on.
#include "format.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/registry.h"
#include "data/memory_reader.h"

namespace yoke::fuzz {
namespace {
constexpr size_t kSmallPiece = 13;

void InsistRows(const SparseStorage& rows, int64_t width) {
  for (size_t r = 0; r + 1 < rows.offsets.size(); ++r)
    for (int64_t i = rows.offsets[r]; i < rows.offsets[r + 1]; ++i) {
      const int32_t id = rows.ids[static_cast<size_t>(i)];
      Insist(id >= 0 && id < width);
      Insist(i == rows.offsets[r] || rows.ids[static_cast<size_t>(i) - 1] < id);
    }
  for (const float value : rows.values) Insist(std::isfinite(value));
}

void InsistSet(const DataInfo& info, MemoryData data) {
  const MemoryReader reader(info, std::move(data));
  std::vector<int64_t> all(static_cast<size_t>(reader.Size()));
  std::iota(all.begin(), all.end(), 0);
  Batch batch;
  reader.Read({.examples = all}, batch);
  for (const int32_t c : batch.classes) Insist(c >= 0 && c < info.outputs);
  InsistRows(batch.labels, info.outputs);
  if (info.sparse) return InsistRows(batch.sparse, info.input[0]);
  for (int64_t i = 0; i < batch.dense.Count(); ++i)
    Insist(std::isfinite(batch.dense.As<float>()[i]));
}

Options OptionsOf(const FormatEntry& format) {
  std::vector<OptionSpec> specs = common_data_options();
  specs.insert(specs.end(), format.options.begin(), format.options.end());
  return {"data", Table{{"format", format.name}}, specs};
}

}  // namespace

int FuzzFormat(const std::string& name, const uint8_t* bytes, size_t size) {
  const FormatEntry& format = FindEntry(formats(), "format", name);
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // An idx set is two files; labels for the bytes taken as one image make it whole.
  const std::string_view label("\0\0\x08\x01\0\0\0\1\7", 9);
  ReadFiles files{.train = {"train"}, .test = {"test"}};
  if (name == "idx") files.train.emplace_back("label"), files.test.emplace_back("label");
  files.open = [&](const std::string& path) {
    return MemorySource(path == "label" ? label : text, path,
                        path == "test" ? kSmallPiece : size + 1);
  };
  try {
    LoadedData data = format.load(OptionsOf(format), files);
    InsistSet(data.info, std::move(data.train));
    InsistSet(data.info, std::move(data.test));
  } catch (const UserError&) {
    return 0;
  }
  return 0;
}

}  // namespace yoke::fuzz
