// Memory in place of files.
#include "data/support/memory_files.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/registry.h"

namespace yoke::testing_support {

LoadedData LoadMemory(const LoadCase& load) {
  const FormatEntry& format = FindEntry(formats(), "format", load.format);
  std::vector<OptionSpec> specs = common_data_options();
  specs.insert(specs.end(), format.options.begin(), format.options.end());
  Value section = load.options;
  section.Set("format", load.format);
  ReadFiles files = load.files;
  files.open = [&](const std::string& path) {
    return MemorySource(load.content.at(path), path, load.piece);
  };
  return format.load(Options("data", section, specs), files);
}

std::string LoadError(const LoadCase& load) {
  try {
    LoadMemory(load);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

LoadCase TrainCase(const std::string& format, const std::string& text, Table options) {
  return {.format = format,
          .options = std::move(options),
          .content = {{"train", text}},
          .files = {.train = {"train"}}};
}

std::string RowText(const SparseArrays& rows, int64_t row) {
  std::string text;
  for (int64_t i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", rows.ids[i],
                        rows.values.empty() ? 1.0F : rows.values[i]);
  return text;
}

}  // namespace yoke::testing_support
