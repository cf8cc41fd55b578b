// DataInfo as a table and back.
#include "base/check.h"
#include "base/json.h"
#include "data/reader.h"

namespace yoke {
namespace {

// Absent unless numbers are rescaled.
Rescaling RescalingAt(const Value& table) {
  if (!table.Find("origin")) return {};
  Rescaling rescaling{.origin = NumbersAt(table, "origin"), .unit = NumbersAt(table, "unit")};
  Require(rescaling.origin.size() == rescaling.unit.size(),
          "the description of the data holds something unexpected in 'unit'");
  return rescaling;
}

// Absent in checkpoints of earlier versions.
std::vector<std::string> ColumnsAt(const Value& table) {
  return table.Find("columns") ? TextsAt(table, "columns") : std::vector<std::string>();
}

// The next three are absent in checkpoints of earlier versions and where they do not apply.
std::vector<double> NumbersOf(const Value& table, const char* key) {
  return table.Find(key) ? NumbersAt(table, key) : std::vector<double>();
}

Value EncodingAsValue(const ColumnEncoding& column) {
  if (column.hashes > 0) return Table{{"hashes", column.hashes}};
  if (column.IsWords()) return Table{{"words", ListOf(column.words)}};
  Value table = column.IsText() ? Table{{"categories", ListOf(column.categories)}}
                                : Table{{"fill", column.fill}, {"indicator", column.indicator}};
  if (column.by_id) table.Set("by_id", true);
  if (column.deviation > 0) table.Set("deviation", column.deviation);
  return table;
}

Value EncodingsAsValue(const std::vector<ColumnEncoding>& encodings) {
  List list;
  for (const ColumnEncoding& column : encodings) list.push_back(EncodingAsValue(column));
  return list;
}

ColumnEncoding EncodingOf(const Value& column) {
  if (column.Find("hashes")) return {.hashes = IntAt(column, "hashes")};
  if (column.Find("words")) return {.words = TextsAt(column, "words")};
  if (column.Find("categories"))
    return {.categories = TextsAt(column, "categories"), .by_id = column.Find("by_id") != nullptr};
  return {.fill = NumberAt(column, "fill"),
          .indicator = BoolAt(column, "indicator"),
          .deviation = column.Find("deviation") ? NumberAt(column, "deviation") : 0};
}

std::vector<ColumnEncoding> EncodingsOf(const Value& table) {
  std::vector<ColumnEncoding> encodings;
  if (!table.Find("encodings")) return encodings;
  for (const Value& column : ListAt(table, "encodings")) encodings.push_back(EncodingOf(column));
  return encodings;
}

}  // namespace

Value InfoAsValue(const DataInfo& info) {
  Value table = Table{{"input", ListOf(info.input.axes())},
                      {"sparse", info.sparse},
                      {"multi_label", info.multi_label},
                      {"outputs", info.outputs},
                      {"label_names", ListOf(info.label_names)},
                      {"labelled", info.labelled},
                      {"first_index", info.first_index},
                      {"scale", info.normalization.scale},
                      {"mean", ListOf(info.normalization.mean)},
                      {"deviation", ListOf(info.normalization.deviation)}};
  if (const Rescaling& rescaling = info.normalization.rescaling; !rescaling.origin.empty()) {
    table.Set("origin", ListOf(rescaling.origin));
    table.Set("unit", ListOf(rescaling.unit));
  }
  if (!info.columns.empty()) {
    table.Set("columns", ListOf(info.columns));
    table.Set("label_column", info.label_column);
  }
  if (!info.encodings.empty()) table.Set("encodings", EncodingsAsValue(info.encodings));
  if (info.regression) {
    table.Set("regression", true);
    table.Set("target_mean", ListOf(info.target_mean));
    table.Set("target_deviation", ListOf(info.target_deviation));
  }
  return table;
}

DataInfo InfoFromValue(const Value& table) {
  std::vector<int64_t> axes;
  for (const Value& axis : ListAt(table, "input")) {
    if (!axis.AsInt()) WrongKind("input", "whole numbers", axis);
    axes.push_back(*axis.AsInt());
  }
  return {.input = Shape(std::move(axes)),
          .sparse = BoolAt(table, "sparse"),
          .multi_label = BoolAt(table, "multi_label"),
          .regression = table.Find("regression") && BoolAt(table, "regression"),
          .outputs = IntAt(table, "outputs"),
          .label_names = TextsAt(table, "label_names"),
          .columns = ColumnsAt(table),
          .label_column = table.Find("label_column") ? TextAt(table, "label_column") : "",
          .encodings = EncodingsOf(table),
          .target_mean = NumbersOf(table, "target_mean"),
          .target_deviation = NumbersOf(table, "target_deviation"),
          .labelled = BoolAt(table, "labelled"),
          .first_index = IntAt(table, "first_index"),
          .normalization = {.scale = NumberAt(table, "scale"),
                            .mean = NumbersAt(table, "mean"),
                            .deviation = NumbersAt(table, "deviation"),
                            .rescaling = RescalingAt(table)}};
}

}  // namespace yoke
