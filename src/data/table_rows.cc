// A cell of a plain number is parsed where it lies, before anything looks for its end.
#include "data/table_rows.h"

#include <algorithm>
#include <cstring>

#include "base/thread.h"

namespace yoke {
namespace {

constexpr size_t kLeastPart = 1 << 16;  // bytes that are worth a thread

}  // namespace

TableRows::TableRows(char delimiter, int threads)
    : delimiter_(delimiter),
      scans_(std::strchr("+-.eE0123456789", delimiter) == nullptr),
      threads_(static_cast<size_t>(threads)) {}

void TableRows::SetColumns(ColumnUses uses) {
  uses_ = std::move(uses);
  columns_.assign(uses_.feature.size(), {});
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].feature = uses_.feature[i];
  for (size_t k = 0; k < uses_.cells.size(); ++k)
    columns_[static_cast<size_t>(uses_.cells[k])].cell = static_cast<int64_t>(k);
}

// The first of `parts` parts of about the same size.
std::string_view TableRows::NextPart(std::string_view& text, size_t parts) const {
  const size_t end = text.find('\n', text.size() / parts);
  const std::string_view part = parts == 1 || end == text.npos ? text : text.substr(0, end + 1);
  text.remove_prefix(part.size());
  return part;
}

int64_t TableRows::Divide(std::string_view text) {
  size_t parts = std::clamp<size_t>(text.size() / kLeastPart, 1, threads_);
  for (parts_.clear(); parts > 0; --parts) parts_.push_back({.text = NextPart(text, parts)});
  ParallelFor(std::ssize(parts_), static_cast<int>(parts_.size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Part& part = parts_[static_cast<size_t>(i)];
      part.rows = std::ranges::count(part.text, '\n');
      part.rows += !part.text.empty() && part.text.back() != '\n';
    }
  });
  int64_t rows = 0;
  for (Part& part : parts_) {
    part.first = rows;
    rows += part.rows;
  }
  return rows;
}

void TableRows::Read(TableColumns& features, float* rows) {
  const auto lines = static_cast<size_t>(parts_.back().first + parts_.back().rows);
  left_.resize(lines);
  cells_.resize(lines * uses_.cells.size());
  for (Use& use : columns_) use.place = scans_ ? features.PlaceOfNumber(use.feature) : -1;
  std::vector<std::vector<int64_t>> missing(parts_.size());
  ParallelFor(std::ssize(parts_), static_cast<int>(parts_.size()), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      ReadPart(features, parts_[i], rows, missing[i]);
  });
  for (const auto& counts : missing)
    for (size_t i = 0; i < counts.size(); ++i)
      features.CountMissing(static_cast<int64_t>(i), counts[i]);
}

void TableRows::ReadPart(const TableColumns& features, const Part& part, float* rows,
                         std::vector<int64_t>& missing) {
  Missing of_part{.counts = std::vector<int64_t>(static_cast<size_t>(features.size()))};
  std::string_view text = part.text;
  for (int64_t row = part.first; row < part.first + part.rows; ++row) {
    const size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = WithoutReturn(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    const bool read = !features.HasWords() &&  // words are put in order
                      ReadLine(features, line, row, rows + row * features.Width(), of_part);
    left_[static_cast<size_t>(row)] = read ? std::string_view() : line;
    if (read)
      for (const int64_t column : of_part.of_a_line) ++of_part.counts[static_cast<size_t>(column)];
  }
  missing = std::move(of_part.counts);
}

bool TableRows::ReadLine(const TableColumns& features, std::string_view line, int64_t row,
                         float* to, Missing& missing) {
  if (line.find_first_not_of(" \t") == line.npos) return false;
  missing.of_a_line.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  std::string_view* const cells = cells_.data() + static_cast<size_t>(row) * uses_.cells.size();
  for (size_t i = 0; i < columns_.size(); ++i, ++at) {
    const Use& use = columns_[i];
    const char* const begin = at;
    const bool scanned = use.place >= 0 && use.cell < 0 && ScanFloat(at, end, to[use.place]) &&
                         (at == end || *at == delimiter_);
    if (!scanned) {
      at = begin;
      std::string_view cell;
      if (!TakeCell(at, end, cell)) return false;
      if (use.cell >= 0) cells[use.cell] = cell;
      const auto put = use.feature < 0 ? CellPut::kValue : features.PutKnown(cell, use.feature, to);
      if (put == CellPut::kNot) return false;
      if (put == CellPut::kMissing) missing.of_a_line.push_back(use.feature);
    }
    if ((at == end) != (i + 1 == columns_.size())) return false;
  }
  return true;
}

// False for a cell that holds quotes, or is not closed.
bool TableRows::TakeCell(const char*& at, const char* end, std::string_view& cell) const {
  const char* const begin = at;
  if (at != end && *at == '"') {
    at = std::find(at + 1, end, '"');
    if (at == end) return false;
    cell = {begin + 1, at++};
    return at == end || *at == delimiter_;
  }
  at = std::find(at, end, delimiter_);
  cell = {begin, at};
  if (!cell.empty() && (IsBlank(cell.front()) || IsBlank(cell.back()))) cell = Trimmed(cell);
  return true;
}

}  // namespace yoke
