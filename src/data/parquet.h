// Parquet files, through a library of our own that is loaded where it was built: it needs Apache
// Arrow.
#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace yoke {

/// The table of a Parquet file as lines of CSV, the first of which names the columns; line ends in
/// its texts become blanks. Throws UserError without that library, and for a file or a column that
/// Arrow or CSV does not have.
std::unique_ptr<ByteSource> OpenParquet(const std::string& path, char delimiter);

/// Makes lines of CSV, the first of which names the columns, the bytes of a Parquet file `path`.
/// Throws like OpenParquet.
std::string ParquetOf(const std::string& lines, const std::string& path);

/// Throws UserError that names `path` without that library.
void RequireParquet(const std::string& path);

/// What the library exports under the name kParquet.
struct ParquetLibrary {
  std::unique_ptr<ByteSource> (*open)(const std::string& path, char delimiter);
  std::string (*bytes_of)(const std::string& lines, const std::string& path);
};
inline constexpr const char* kParquet = "yoke_parquet";

}  // namespace yoke
