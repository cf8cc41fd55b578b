// Predictions: CSV as RFC 4180 quotes it, and JSON lines.
#include "cli/predictions.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/json.h"

namespace yoke {
namespace {

constexpr size_t kPieceBytes = 1 << 20;  // of lines that Parquet takes at once

std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(Cell(cell));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

}  // namespace

Table Prediction::Fields() const {
  Table fields = {{"index", index}};
  if (!regression) fields.emplace_back("labels", ListOf(labels));
  fields.emplace_back(regression ? "values" : "scores", ListOf(scores));
  if (!file.empty()) fields.emplace_back("file", file);
  return fields;
}

void CheckPredictionName(const std::string& path) {
  if (path.ends_with(".parquet")) return RequireParquet(path);
  Require(path.ends_with(".csv") || path.ends_with(".jsonl"),
          "--output {}: expected a name that ends in .csv, .jsonl or .parquet", path);
}

PredictionFile::PredictionFile(const std::string& path, const std::vector<std::string>& targets,
                               int64_t top, bool with_files)
    : json_(path.ends_with(".jsonl")),
      with_files_(with_files),
      top_(targets.empty() ? static_cast<size_t>(top) : 0),
      file_(path) {
  if (json_) return;
  using Kind = ParquetColumn::Kind;
  std::vector<ParquetColumn> columns = {{"index", Kind::kIndex}};
  if (with_files) columns.push_back({"file", Kind::kText});
  for (const std::string& target : targets) columns.push_back({target, Kind::kNumber});
  for (size_t k = 1; k <= top_; ++k)
    for (const auto& [name, kind] : {std::pair("label", Kind::kText), {"score", Kind::kNumber}})
      columns.push_back({k == 1 ? std::string(name) : fmt::format("{}_{}", name, k), kind});
  if (path.ends_with(".parquet")) {
    parquet_ = WriteParquet(path, columns);
    return;
  }
  std::vector<std::string> names;
  for (const ParquetColumn& column : columns) names.push_back(column.name);
  file_.Write(CsvLine(names));
}

void PredictionFile::Write(const Prediction& prediction) {
  const std::string line = json_ ? FormatJson(prediction.Fields()) + "\n" : Line(prediction);
  if (!parquet_) return file_.Write(line);
  lines_ += line;
  if (lines_.size() >= kPieceBytes) WriteLines();
}

void PredictionFile::WriteLines() {
  file_.Write(parquet_->Write(lines_));
  lines_.clear();
}

void PredictionFile::Commit() {
  if (!lines_.empty()) WriteLines();
  if (parquet_) file_.Write(parquet_->End());
  file_.Commit();
}

std::string PredictionFile::Line(const Prediction& prediction) const {
  std::vector<std::string> cells = {std::to_string(prediction.index)};
  if (with_files_) cells.push_back(prediction.file);
  if (top_ == 0)
    for (const double value : prediction.scores) cells.push_back(fmt::format("{:.9g}", value));
  for (size_t k = 0; k < top_; ++k) {
    const bool known = k < prediction.labels.size();
    cells.push_back(known ? prediction.labels[k] : "");
    cells.push_back(known ? fmt::format("{:.9g}", prediction.scores[k]) : "");
  }
  return CsvLine(cells);
}

}  // namespace yoke
