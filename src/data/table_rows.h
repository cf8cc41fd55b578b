// TableRows: several threads cut the lines of a table, and put into their rows what teaches nothing
// new: numbers, known categories, missing cells. Other lines are left to the caller, in order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/table_columns.h"

namespace yoke {

/// The use of a table's columns.
struct ColumnUses {
  std::vector<int64_t> feature = {};  ///< By column: its feature column; -1: it is none.
  std::vector<int64_t> cells = {};    ///< Columns whose cells the caller reads.
};

class TableRows {
 public:
  TableRows(char delimiter, int threads);

  void SetColumns(ColumnUses uses);
  /// Takes whole lines, which must remain valid while they are used. Returns how many they are.
  int64_t Divide(std::string_view text);
  /// Puts the lines into `rows`, of Width() zeros each.
  void Read(TableColumns& features, float* rows);

  /// Line `row`, without its line end, if it is left to the caller, who finds some of its cells in
  /// its row; else null data.
  std::string_view Left(int64_t row) const { return left_[static_cast<size_t>(row)]; }
  /// Of a line that is not left: cell k of ColumnUses::cells.
  std::string_view Cell(int64_t row, size_t k) const {
    return cells_[static_cast<size_t>(row) * uses_.cells.size() + k];
  }

 private:
  struct Part {
    std::string_view text;
    int64_t first = 0;  // row
    int64_t rows = 0;
  };
  struct Use {
    int64_t feature = -1;
    int64_t cell = -1;
    int64_t place = -1;  // in the row, of a plain number
  };
  struct Missing {
    std::vector<int64_t> counts = {};     // by feature column
    std::vector<int64_t> of_a_line = {};  // feature columns
  };

  std::string_view NextPart(std::string_view& text, size_t parts) const;
  void ReadPart(const TableColumns& features, const Part& part, float* rows,
                std::vector<int64_t>& missing);
  bool ReadLine(const TableColumns& features, std::string_view line, int64_t row, float* to,
                Missing& missing);
  bool TakeCell(const char*& at, const char* end, std::string_view& cell) const;

  char delimiter_;
  bool scans_;  // the delimiter ends a number
  size_t threads_;
  ColumnUses uses_;
  std::vector<Use> columns_;
  std::vector<Part> parts_;
  std::vector<std::string_view> left_, cells_;
};

}  // namespace yoke
