// Parquet: a table as CSV has, in columns with types.
#include "data/memory_reader.h"
#include "data/table_file.h"

namespace yoke {
namespace {

LoadedData LoadParquet(const Options& options, const ReadFiles& files) {
  return LoadTable(options, files, {.header = "yes", .parquet = true});
}

}  // namespace

FormatEntry parquet_format() {
  return {
      .name = "parquet",
      .kind = FormatKind::kTable,
      .summary = "Parquet: a table as csv has, with numbers, categories, and a class or targets",
      .options = TableOptions(),
      .load = LoadParquet};
}

}  // namespace yoke
