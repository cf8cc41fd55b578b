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
          .outputs = IntAt(table, "outputs"),
          .label_names = TextsAt(table, "label_names"),
          .columns = ColumnsAt(table),
          .label_column = table.Find("label_column") ? TextAt(table, "label_column") : "",
          .labelled = BoolAt(table, "labelled"),
          .first_index = IntAt(table, "first_index"),
          .normalization = {.scale = NumberAt(table, "scale"),
                            .mean = NumbersAt(table, "mean"),
                            .deviation = NumbersAt(table, "deviation"),
                            .rescaling = RescalingAt(table)}};
}

}  // namespace yoke
