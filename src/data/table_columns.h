// TableColumns: turns the cells of a table's feature columns into numbers: of texts one feature a
// category, of missing numbers the mean and an indicator, of free text one feature a word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/memory_reader.h"
#include "data/reader.h"
#include "data/storage.h"
#include "data/text.h"
#include "data/text_ids.h"
#include "data/word_column.h"

namespace yoke {

/// Whether a cell holds nothing, or a word for it: "NA", "nan", "null", "?".
bool IsMissing(std::string_view cell);

/// Whether a cell looks like a date: "2026-11-28", "28/11/2026", "28.11.2026 17:40".
bool IsDate(std::string_view cell);

/// What a job says of the feature columns.
struct TableChoice {
  std::vector<int64_t> texts = {};  ///< To be read as texts whatever they hold.
  std::vector<int64_t> words = {};  ///< Of free text.
  WordFeatures word_features = {};  ///< How these become features.
  bool by_id = false;               ///< Categories are one feature, their number.
};

/// What became of a cell.
enum class CellPut : uint8_t { kNot, kValue, kMissing };

/// Learns the encodings from the rows of the training files, then applies them. The first cell
/// that is not missing tells whether a column holds numbers or texts.
class TableColumns {
 public:
  static constexpr size_t kMostCategories = 1000;
  static constexpr size_t kMostIds = 100000;  ///< Of categories that are one feature.

  /// `like` has the encodings already, or is null.
  TableColumns(const DataInfo* like, const Rescaling& rescaling);

  /// Starts with so many feature columns, unless they are known.
  void Start(int64_t columns, const TableChoice& choice);
  bool learning() const { return learning_; }
  int64_t size() const { return static_cast<int64_t>(columns_.size()); }
  /// Numbers that a row takes: one a column while learning, then the features.
  int64_t Width() const { return learning_ ? size() : features_; }
  /// Where a row has the number of a column, if its cells may be scanned to it as they are; -1: Put
  /// must judge them. Column -1 is none.
  int64_t PlaceOfNumber(int64_t column) const {
    if (column < 0 || At(column).kind != Kind::kNumber || !rescaling_.origin.empty()) return -1;
    return learning_ ? column : At(column).feature;
  }
  /// Writes a cell to its row, which is zero, if nothing new is learned from it and nothing is
  /// wrong with it. Several threads may call it. The caller counts what is missing.
  CellPut PutKnown(std::string_view cell, int64_t column, float* row) const;
  void CountMissing(int64_t column, int64_t cells) {
    columns_[static_cast<size_t>(column)].missing += cells;
  }
  /// Writes a cell to its row, which is zero. Returns what is wrong with the cell, or "".
  std::string Put(std::string_view cell, int64_t column, float* row);
  /// Ends learning: `rows` rows of floats become features.
  void Finish(int64_t rows, int64_t memory_limit, GrowingArray<float>& floats);
  /// Of tables with free text: makes the rows of floats, and the words since the last call, sparse
  /// rows.
  void Join(MemoryData& data);

  int64_t features() const { return features_ + words_; }
  bool HasWords() const { return std::ranges::any_of(columns_, &Column::HasWords); }
  std::vector<ColumnEncoding> Encodings() const;
  /// Whether the column's first cell made it one of texts.
  bool BeganAsText(int64_t column) const {
    return At(column).kind == Kind::kText && !At(column).forced;
  }
  int64_t MissingNumbers() const;  ///< Cells so far, of columns of numbers.

 private:
  enum class Kind : uint8_t { kUnknown, kNumber, kText, kWords };
  struct Column {
    Kind kind = Kind::kUnknown;
    bool forced = false;  // to be text
    int64_t feature = 0;  // its first of the floats
    int64_t missing = 0;
    ColumnEncoding encoding = {};
    TextIds ids = {};                        // of texts
    std::unique_ptr<WordColumn> words = {};  // of free text

    bool HasWords() const { return words != nullptr; }
  };

  const Column& At(int64_t column) const { return columns_[static_cast<size_t>(column)]; }
  bool ReadNumber(std::string_view cell, const Column& column, float& number,
                  std::string& problem) const;
  std::string LearnText(std::string_view cell, Column& column, float* to) const;
  CellPut PutText(std::string_view cell, const Column& column, float* to) const;
  void PutMissing(const Column& column, float* to) const;
  std::string StartText(std::string_view cell, Column& column) const;
  float Fill(const Column& column) const;
  void SetMeans(int64_t rows, const float* raw);
  void SetDeviations(int64_t rows, const float* raw);
  void Place();
  void Expand(const float* raw, float* row) const;

  Rescaling rescaling_;
  bool learning_ = true;
  bool fills_ = true;  // the means are known, or will be
  std::vector<Column> columns_;
  bool by_id_ = false;
  int64_t features_ = 0;  // without words
  int64_t words_ = 0;     // features of words
};

}  // namespace yoke
