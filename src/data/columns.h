// Columns: finds a model's features and its class among the columns of a table by their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

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
