// Reads a CSV or Parquet file as training does, and prints the seconds: read_table FILE LABEL
#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "data/memory_reader.h"

namespace yoke {
namespace {

Options OptionsOf(const FormatEntry& format, const Value& section) {
  std::vector<OptionSpec> specs = common_data_options();
  specs.insert(specs.end(), format.options.begin(), format.options.end());
  return {"data", section, specs};
}

void Run(const std::string& path, const std::string& label) {
  const std::string name = path.ends_with(".parquet") ? "parquet" : "csv";
  const FormatEntry& format = FindEntry(formats(), "format", name);
  const Value section = Table{{"format", name}, {"label", label}};
  const double began = Now();
  const LoadedData data = format.load(OptionsOf(format, section), {.train = {path}});
  const double seconds = Now() - began;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("{\"seconds\": %.4f, \"examples\": %ld, \"features\": %ld, \"peak_mb\": %ld}\n",
              seconds, data.train.size, data.info.input[0], used.ru_maxrss >> 10);
}

}  // namespace
}  // namespace yoke

int main(int count, char** words) {
  if (count != 3) return 2;
  try {
    yoke::Run(words[1], words[2]);
  } catch (const yoke::UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
