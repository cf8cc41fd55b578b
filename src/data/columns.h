// Columns: splits a line of a table into cells, and finds a model's features and its class among
// the columns by their names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
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
  std::vector<int64_t> feature = {};  ///< By column: its feature; -1: it is none.
  std::vector<int64_t> labels = {};   ///< By label: its column; -1: there is none.
  int64_t weight = -1;                ///< The column of the examples' weights; -1: there is none.
  std::vector<std::string> missing = {};   ///< Features that no column is named after.
  std::vector<std::string> left_out = {};  ///< Columns that are neither a feature nor a label.

  bool HasLabels() const { return std::ranges::find(labels, -1) == labels.end(); }
};

/// Matches the names of a header, in any order. Columns of the same name keep their order.
ColumnMatch MatchByName(const std::vector<std::string_view>& header,
                        const std::vector<std::string>& features,
                        const std::vector<std::string>& labels);

/// What a job says of a table's columns: [data] label, weight, drop, columns, categories
/// and text.
class ColumnChoice {
 public:
  explicit ColumnChoice(const Options& options) : options_(options) {}

  /// Whether a key names a column, for which a file needs a header.
  bool HasNames() const;
  /// Whether the job leaves a column of this name out, or takes it as the weight.
  bool Names(const std::string& name) const;
  int64_t Labels() const { return static_cast<int64_t>(options_.Columns("label").size()); }
  /// The column of the first label, which may be outside the file; -1: it is named.
  int64_t LabelPlace(int64_t columns) const;

  /// The use of a file's columns, whose `header` is empty if it has none. Throws UserError at the
  /// current line for columns that the file lacks.
  ColumnMatch Match(const LineReader& lines, const std::vector<std::string>& header,
                    int64_t columns) const;
  /// Throws UserError if a label is one of `others` or another label, too.
  static void CheckLabels(const LineReader& lines, const std::vector<int64_t>& labels,
                          const std::vector<int64_t>& others);
  /// The places of the columns that a key names.
  std::vector<int64_t> Places(const LineReader& lines, const char* key,
                              const std::vector<std::string>& header, int64_t columns) const;

 private:
  const Options& options_;
};

/// Whether these cells are the names that a program gives columns without names: 0, 1, 2, ... or
/// 1, 2, 3, ... The cell `label` counts along or is text; the first may be empty (the index).
bool AreCountedNames(const std::vector<std::string_view>& cells, int64_t label);

/// "'a', 'b', ... (20 in all)".
std::string ListOfNames(const std::vector<std::string>& names);

}  // namespace yoke
