// Parquet files, through a library of our own that is loaded where it was built: it needs Apache
// Arrow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace yoke {

/// The table of a Parquet file as lines of CSV, the first of which names the columns, without an
/// index of pandas that has no name; line ends in its texts become blanks. Throws UserError without
/// that library, and for a file or a column that Arrow or CSV does not have.
std::unique_ptr<ByteSource> OpenParquet(const std::string& path, char delimiter);

/// A column of a file that is written.
struct ParquetColumn {
  enum class Kind { kIndex, kNumber, kText };  ///< int64, float64 and UTF-8.
  std::string name;
  Kind kind = Kind::kNumber;
};

/// Makes lines of CSV the bytes of a Parquet file, piece by piece. Throws UserError for a cell that
/// is not of its column's kind.
class ParquetWriter {
 public:
  virtual ~ParquetWriter() = default;
  /// The file's next bytes, which hold these whole lines.
  virtual std::string Write(const std::string& lines) = 0;
  /// Its last ones.
  virtual std::string End() = 0;
};

/// Throws like OpenParquet; `path` is for messages.
std::unique_ptr<ParquetWriter> WriteParquet(const std::string& path,
                                            const std::vector<ParquetColumn>& columns);

/// Throws UserError that names `path` without that library.
void RequireParquet(const std::string& path);

/// What the library exports under the name kParquet.
struct ParquetLibrary {
  std::unique_ptr<ByteSource> (*open)(const std::string& path, char delimiter);
  std::unique_ptr<ParquetWriter> (*create)(const std::string& path,
                                           const std::vector<ParquetColumn>& columns);
};
inline constexpr const char* kParquet = "yoke_parquet";

}  // namespace yoke
