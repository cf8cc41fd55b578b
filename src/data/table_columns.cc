// TableColumns: while it learns, a row holds a number for each column: the cell's, or its category
// in order of appearance; NaN where it is missing.
#include "data/table_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/resources.h"
#include "base/thread.h"
#include "base/utf8.h"

namespace yoke {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Takes up to five digits, one more than a part of a date has; returns how many.
size_t TakeGroup(std::string_view& text) {
  size_t count = 0;
  while (count < std::min<size_t>(text.size(), 5) && text[count] >= '0' && text[count] <= '9')
    ++count;
  text.remove_prefix(count);
  return count;
}

// Categories by their sorted order; `rank` gets the new place of each.
void SortCategories(std::vector<std::string>& names, std::vector<int32_t>& rank) {
  std::vector<int32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int32_t id) { return std::string_view(names[id]); });
  rank.resize(names.size());
  std::vector<std::string> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<int32_t>(i);
    sorted.push_back(names[order[i]]);
  }
  names = std::move(sorted);
}

}  // namespace

bool IsMissing(std::string_view cell) {
  constexpr std::array<std::string_view, 10> kWords = {"NA",   "N/A",  "n/a",  "nan", "NaN",
                                                       "NULL", "null", "None", "?",   "NAN"};
  if (cell.empty()) return true;
  const bool may_be = cell[0] == 'N' || cell[0] == 'n' || cell[0] == '?';
  return may_be && cell.size() <= 4 && std::ranges::find(kWords, cell) != kWords.end();
}

bool IsDate(std::string_view cell) {
  std::array<size_t, 3> digits = {};
  const size_t first = cell.find_first_of("-/.");
  const char separator = first == cell.npos ? '\0' : cell[first];
  for (size_t group = 0; group < digits.size(); ++group) {
    if (group > 0) {
      if (!cell.starts_with(separator)) return false;
      cell.remove_prefix(1);
    }
    digits[group] = TakeGroup(cell);
    if (digits[group] == 0 || digits[group] == 3 || digits[group] > 4) return false;
  }
  const bool ends = cell.empty() || cell.front() == ' ' || cell.front() == 'T';
  return ends && digits[1] <= 2 && (digits[0] == 4) != (digits[2] == 4);
}

TableColumns::TableColumns(const DataInfo* like, const Rescaling& rescaling)
    : rescaling_(rescaling) {
  if (!like) return;
  learning_ = false;
  fills_ = !like->encodings.empty();
  columns_.resize(fills_ ? like->encodings.size() : static_cast<size_t>(like->input[0]));
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (fills_) column.encoding = like->encodings[i];
    column.kind = column.encoding.IsText() ? Kind::kText : Kind::kNumber;
    if (column.encoding.IsWords()) {
      column.kind = Kind::kWords;
      column.words = std::make_unique<WordColumn>(column.encoding);
    }
    for (const std::string& name : column.encoding.categories)
      if (column.ids.Find(name) < 0) column.ids.Add(name);
  }
  Place();
}

void TableColumns::Start(int64_t columns, const TableChoice& choice) {
  if (!learning_ || !columns_.empty()) return;
  by_id_ = choice.by_id;
  columns_.resize(static_cast<size_t>(columns));
  for (const int64_t text : choice.texts) columns_[static_cast<size_t>(text)].forced = true;
  for (const int64_t text : choice.words) {
    Column& column = columns_[static_cast<size_t>(text)];
    column.kind = Kind::kWords;
    column.words = std::make_unique<WordColumn>(choice.word_features);
  }
}

// The features lie in the order of the columns.
void TableColumns::Place() {
  features_ = words_ = 0;
  for (Column& column : columns_) {
    column.feature = features_;
    (column.HasWords() ? words_ : features_) += column.encoding.Features();
  }
}

bool TableColumns::ReadNumber(std::string_view cell, const Column& column, float& number,
                              std::string& problem) const {
  const auto feature = static_cast<size_t>(column.feature);
  if (learning_ || !rescaling_.Changes(feature)) {
    const char* begin = cell.data();
    const char* const end = begin + cell.size();
    return ScanFloat(begin, end, number) && begin == end;
  }
  double exact = 0;
  if (!ParseNumber(cell, exact)) return false;
  number = rescaling_.Apply(exact, feature);
  if (!std::isfinite(number))
    problem = fmt::format("{} is too far from the training data's numbers", Quoted(cell));
  return true;
}

CellPut TableColumns::PutKnown(std::string_view cell, int64_t index, float* row) const {
  const Column& column = At(index);
  if (column.HasWords()) return CellPut::kNot;
  float* const to = row + (learning_ ? index : column.feature);
  if (column.kind == Kind::kText) return PutText(cell, column, to);
  std::string problem;
  if (column.kind == Kind::kNumber && ReadNumber(cell, column, *to, problem))
    return problem.empty() ? CellPut::kValue : CellPut::kNot;
  if (!IsMissing(cell) || !fills_) return CellPut::kNot;
  PutMissing(column, to);
  return CellPut::kMissing;
}

std::string TableColumns::Put(std::string_view cell, int64_t index, float* row) {
  Column& column = columns_[static_cast<size_t>(index)];
  if (column.HasWords()) return column.words->Add(IsMissing(cell) ? "" : cell);
  float* const to = row + (learning_ ? index : column.feature);
  std::string problem;
  if (column.kind != Kind::kText && !column.forced && ReadNumber(cell, column, *to, problem)) {
    column.kind = Kind::kNumber;
    return problem;
  }
  const CellPut put = PutKnown(cell, index, row);
  if (put == CellPut::kMissing) ++column.missing;
  if (put != CellPut::kNot) return "";
  if (column.kind == Kind::kUnknown) problem = StartText(cell, column);
  if (!problem.empty()) return problem;
  if (column.kind == Kind::kText) return LearnText(cell, column, to);
  return fmt::format(
      "expected a finite number, got {}{}", Quoted(cell),
      learning_ && !IsNotFinite(cell) ? "; data.categories names columns that hold texts" : "");
}

std::string TableColumns::StartText(std::string_view cell, Column& column) const {
  if (IsNotFinite(cell)) return fmt::format("expected a finite number, got {}", Quoted(cell));
  if (IsDate(cell) && !column.forced)
    return fmt::format(
        "{} looks like a date, which is neither a number nor a category; expected columns such as "
        "year, month and weekday, or data.drop or data.categories with this column",
        Quoted(cell));
  column.kind = Kind::kText;
  return "";
}

CellPut TableColumns::PutText(std::string_view cell, const Column& column, float* to) const {
  if (IsMissing(cell)) {
    if (learning_) *to = kMissing;
    return CellPut::kValue;
  }
  const int32_t id = column.ids.Find(cell);
  if (id < 0) return learning_ ? CellPut::kNot : CellPut::kValue;
  if (learning_)
    *to = static_cast<float>(id);
  else if (column.encoding.by_id)
    *to = static_cast<float>(id + 1);
  else
    to[id] = 1;
  return CellPut::kValue;
}

std::string TableColumns::LearnText(std::string_view cell, Column& column, float* to) const {
  if (!IsUtf8(cell))
    return fmt::format("{} is not UTF-8; convert the file, for example with iconv", Quoted(cell));
  const size_t most = by_id_ ? kMostIds : kMostCategories;
  if (column.ids.size() == most)
    return fmt::format(
        "it has more than {} different texts; expected categories, or data.{} with this column",
        most, by_id_ ? "drop" : "drop or data.text");
  *to = static_cast<float>(column.ids.size());
  column.ids.Add(cell);
  column.encoding.categories.emplace_back(cell);
  return "";
}

void TableColumns::PutMissing(const Column& column, float* to) const {
  if (learning_) {
    *to = kMissing;
    return;
  }
  *to = Fill(column);
  if (column.encoding.indicator) to[1] = 1;
}

float TableColumns::Fill(const Column& column) const {
  const auto feature = static_cast<size_t>(column.feature);
  if (rescaling_.Changes(feature)) return rescaling_.Apply(column.encoding.fill, feature);
  return static_cast<float>(column.encoding.fill);
}

// Of columns of numbers, or of missing cells alone.
void TableColumns::SetMeans(int64_t rows, const float* raw) {
  std::vector<double> sums(columns_.size());
  ParallelFor(size(), UsableCores(), [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = begin; i < end; ++i) {
        const float number = raw[r * size() + i];
        sums[static_cast<size_t>(i)] += std::isnan(number) ? 0.0F : number;
      }
  });
  for (size_t i = 0; i < sums.size(); ++i) {
    Column& column = columns_[i];
    if (column.kind == Kind::kText || column.HasWords()) continue;
    const int64_t present = rows - column.missing;
    column.encoding.fill = present > 0 ? sums[i] / static_cast<double>(present) : 0;
    column.encoding.indicator = present > 0 && column.missing > 0;
    column.kind = Kind::kNumber;
  }
}

// Of columns of numbers, where the means stand for missing ones.
void TableColumns::SetDeviations(int64_t rows, const float* raw) {
  std::vector<double> sums(columns_.size());
  for (int64_t r = 0; r < rows; ++r, raw += size())
    for (size_t i = 0; i < sums.size(); ++i) {
      const double apart = std::isnan(raw[i]) ? 0 : raw[i] - columns_[i].encoding.fill;
      sums[i] += apart * apart;
    }
  for (size_t i = 0; i < sums.size(); ++i)
    if (columns_[i].kind == Kind::kNumber)
      columns_[i].encoding.deviation = sums[i] > 0 ? std::sqrt(sums[i] / double(rows)) : 1;
}

void TableColumns::Finish(int64_t rows, int64_t memory_limit, GrowingArray<float>& floats) {
  if (!learning_) return;
  SetMeans(rows, floats.data());
  if (HasWords()) SetDeviations(rows, floats.data());
  std::vector<std::vector<int32_t>> ranks(columns_.size());
  std::vector<size_t> texts;
  bool expands = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.kind == Kind::kText) {
      SortCategories(column.encoding.categories, ranks[i]);
      column.ids.Renumber(ranks[i]);
      column.encoding.by_id = by_id_;
      texts.push_back(i);
    }
    if (column.HasWords()) column.words->Close(column.encoding);
    expands = expands || column.kind != Kind::kNumber || column.missing > 0;
  }
  learning_ = false;
  Place();
  Require(features() <= INT32_MAX,
          "data.text: its columns and the others have {} features in all; expected at most {}, "
          "with fewer data.hashes",
          features(), INT32_MAX);
  if (!expands) return;
  GrowingArray<float> features(memory_limit);
  float* const expanded = features.Extend(rows * features_);
  ParallelFor(rows, UsableCores(), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* const raw = floats.data() + r * size();
      for (const size_t i : texts)
        if (!std::isnan(raw[i])) raw[i] = static_cast<float>(ranks[i][static_cast<size_t>(raw[i])]);
      Expand(raw, expanded + r * features_);
    }
  });
  floats = std::move(features);
}

void TableColumns::Expand(const float* raw, float* row) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    float* const to = row + column.feature;
    const bool missing = std::isnan(raw[i]);
    if (column.HasWords()) continue;
    if (column.kind == Kind::kText) {
      if (column.encoding.by_id)
        *to = missing ? 0 : raw[i] + 1;
      else if (!missing)
        to[static_cast<int64_t>(raw[i])] = 1;
      continue;
    }
    to[0] = missing ? Fill(column) : raw[i];
    if (column.encoding.indicator) to[1] = missing ? 1.0F : 0.0F;
  }
}

void TableColumns::Join(MemoryData& data) {
  if (!HasWords()) return;
  for (int64_t r = 0; r < data.size; ++r) {
    int64_t first = 0;  // feature of the column
    for (const Column& column : columns_) {
      const ColumnEncoding& encoding = column.encoding;
      if (column.HasWords()) {
        column.words->Append(r, first, data.sparse);
        first += encoding.Features();
        continue;
      }
      const float* const from = data.floats.data() + r * features_ + column.feature;
      for (int64_t i = 0; i < encoding.Features(); ++i, ++first) {
        const bool number = i == 0 && column.kind == Kind::kNumber;
        const double value = number ? (from[i] - encoding.fill) / encoding.deviation : from[i];
        if (value == 0) continue;
        data.sparse.ids.push_back(static_cast<int32_t>(first));
        data.sparse.values.push_back(static_cast<float>(value));
      }
    }
    data.sparse.EndRow();
  }
  data.floats = GrowingArray<float>();
  for (const Column& column : columns_)
    if (column.HasWords()) column.words->Clear();
}

int64_t TableColumns::MissingNumbers() const {
  int64_t missing = 0;
  for (const Column& column : columns_)
    missing += column.kind == Kind::kNumber ? column.missing : 0;
  return missing;
}

std::vector<ColumnEncoding> TableColumns::Encodings() const {
  std::vector<ColumnEncoding> encodings;
  for (const Column& column : columns_) encodings.push_back(column.encoding);
  return encodings;
}

}  // namespace yoke
