// memory: arrays that a program gives with the job (data/memory_reader.h). There are no files.
#include "base/check.h"
#include "data/memory_reader.h"

namespace yoke {
namespace {

LoadedData Refuse(const Options& options, const ReadFiles&) {
  throw UserError(
      fmt::format("{}: the data were arrays in a program's memory, which no file holds: give them "
                  "again, or name files and their format",
                  options.Where("format")));
}

}  // namespace

FormatEntry memory_format() {
  return {
      .name = "memory",
      .kind = FormatKind::kProgram,
      .summary = "arrays that a program gives with the job (`import yoke` in Python)",
      .options = {{.name = "task",
                   .fallback = "auto",
                   .help = "What labels are: classes or labels, or the targets of a regression. "
                           "auto: decimals are targets, all others classes or labels.",
                   .choices = {"auto", "classes", "regression"}}},
      .synthetic = true,
      .load = &Refuse};
}

}  // namespace yoke
