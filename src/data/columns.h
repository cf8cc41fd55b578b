// Columns: splits a line of a table into cells, and finds a model's features and its class among
// the columns by their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text.h"

namespace yoke {

/// Splits one line at a time. Cells are views into the line, or into `unquoted_` if quotes were
/// removed.
class Cells {
 public:
  explicit Cells(char delimiter) : delimiter_(delimiter) {}

  /// The cells of a line, valid as long as it and until the next call. Throws UserError for an open
  /// quote.
  const std::vector<std::string_view>& Cut(const LineReader& lines, std::string_view line) {
    cells_.clear();
    unquoted_.clear();
    unquoted_.reserve(line.size());  // views into it must remain valid
    for (bool more = true; more;) {
      const bool quoted = !line.empty() && line.front() == '"';
      cells_.push_back(quoted ? TakeQuoted(lines, line) : TakePlain(line));
      more = !line.empty();
      if (more) line.remove_prefix(1);
      if (more && line.empty()) cells_.emplace_back(), more = false;
    }
    return cells_;
  }

 private:
  std::string_view TakePlain(std::string_view& line) const {
    const std::string_view cell = line.substr(0, line.find(delimiter_));
    line.remove_prefix(cell.size());
    return Trimmed(cell);
  }

  // "..." with "" for a quote inside.
  std::string_view TakeQuoted(const LineReader& lines, std::string_view& line) {
    const size_t start = unquoted_.size();
    size_t i = 1;
    for (; i < line.size() && (line[i] != '"' || line.substr(i, 2) == "\"\""); ++i) {
      i += line[i] == '"';
      unquoted_ += line[i];
    }
    if (i >= line.size()) lines.Fail("a quote is not closed on its line");
    line.remove_prefix(i + 1);
    if (!line.empty() && line.front() != delimiter_)
      lines.Fail("expected the delimiter behind a quoted cell, got {}", Quoted(line));
    return std::string_view(unquoted_).substr(start);
  }

  char delimiter_;
  std::vector<std::string_view> cells_;
  std::string unquoted_;
};

/// The use of each column of a file.
struct ColumnMatch {
  std::vector<int64_t> feature;       ///< By column: its feature; -1: it is none.
  int64_t label = -1;                 ///< The class's column; -1: there is none.
  std::vector<std::string> missing;   ///< Features that no column is named after.
  std::vector<std::string> left_out;  ///< Columns that are neither a feature nor the class.
};

/// The columns of a file whose first `size` columns but `label` are the features in order.
ColumnMatch MatchByPlace(int64_t size, int64_t label);

/// Matches the names of a header, in any order. Columns of the same name keep their order.
ColumnMatch MatchByName(const std::vector<std::string_view>& header,
                        const std::vector<std::string>& features, const std::string& label);

/// Whether these cells are the names that a program gives columns without names: 0, 1, 2, ... or
/// 1, 2, 3, ... The cell `label` counts along or is text; the first may be empty (the index).
bool AreCountedNames(const std::vector<std::string_view>& cells, int64_t label);

/// "'a', 'b', ... (20 in all)".
std::string ListOfNames(const std::vector<std::string>& names);

}  // namespace yoke
