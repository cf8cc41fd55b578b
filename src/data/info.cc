// DataInfo as a table and back.
#include "base/check.h"
#include "data/reader.h"

namespace yoke {
namespace {

template <typename T>
Value ListOf(const T& items) {
  return List(items.begin(), items.end());
}

const Value& Get(const Value& table, std::string_view key) {
  const Value* value = table.Find(key);
  Require(value != nullptr, "the description of the data lacks '{}'", key);
  return *value;
}

// A plain value of the type that a pointer like Value::AsInt gives.
template <typename T>
const T& As(const T* value, std::string_view key) {
  Require(value != nullptr, "the description of the data holds something unexpected in '{}'", key);
  return *value;
}

bool BoolAt(const Value& table, std::string_view key) { return As(Get(table, key).AsBool(), key); }
int64_t IntAt(const Value& table, std::string_view key) { return As(Get(table, key).AsInt(), key); }
const List& ListAt(const Value& table, std::string_view key) {
  return As(Get(table, key).AsList(), key);
}

double Number(const Value& value, std::string_view key) {
  const std::optional<double> number = value.AsNumber();
  return As(number ? &*number : nullptr, key);
}

std::vector<double> NumbersAt(const Value& table, std::string_view key) {
  std::vector<double> numbers;
  for (const Value& item : ListAt(table, key)) numbers.push_back(Number(item, key));
  return numbers;
}

// Absent unless numbers are rescaled.
Rescaling RescalingAt(const Value& table) {
  if (!table.Find("origin")) return {};
  Rescaling rescaling{.origin = NumbersAt(table, "origin"), .unit = NumbersAt(table, "unit")};
  Require(rescaling.origin.size() == rescaling.unit.size(),
          "the description of the data holds something unexpected in 'unit'");
  return rescaling;
}

// A list of text; checkpoints of earlier versions lack it.
std::vector<std::string> TextsAt(const Value& table, std::string_view key) {
  std::vector<std::string> texts;
  if (!table.Find(key)) return texts;
  for (const Value& text : ListAt(table, key)) texts.push_back(As(text.AsString(), key));
  return texts;
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
  for (const Value& axis : ListAt(table, "input")) axes.push_back(As(axis.AsInt(), "input"));
  Get(table, "label_names");
  const Value* label_column = table.Find("label_column");
  return {.input = Shape(std::move(axes)),
          .sparse = BoolAt(table, "sparse"),
          .multi_label = BoolAt(table, "multi_label"),
          .outputs = IntAt(table, "outputs"),
          .label_names = TextsAt(table, "label_names"),
          .columns = TextsAt(table, "columns"),
          .label_column = label_column ? As(label_column->AsString(), "label_column") : "",
          .labelled = BoolAt(table, "labelled"),
          .first_index = IntAt(table, "first_index"),
          .normalization = {.scale = Number(Get(table, "scale"), "scale"),
                            .mean = NumbersAt(table, "mean"),
                            .deviation = NumbersAt(table, "deviation"),
                            .rescaling = RescalingAt(table)}};
}

}  // namespace yoke
