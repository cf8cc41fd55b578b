// Matches columns through a table of names.
#include "data/columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/utf8.h"
#include "data/text.h"

namespace yoke {
namespace {

// The columns of each name, in order.
using Places = std::unordered_map<std::string_view, std::deque<int64_t>>;

Places PlacesOf(const std::vector<std::string_view>& header) {
  Places places;
  for (size_t i = 0; i < header.size(); ++i) places[header[i]].push_back(static_cast<int64_t>(i));
  return places;
}

// Takes the first column of this name; -1: there is none left.
int64_t Take(Places& places, const std::string& name) {
  const auto found = places.find(name);
  if (found == places.end() || found->second.empty()) return -1;
  const int64_t place = found->second.front();
  found->second.pop_front();
  return place;
}

constexpr const char* kColumnKeys[] = {"label", "weight", "drop", "columns", "categories", "text"};

template <typename T>
bool IsIn(const std::vector<T>& list, const T& item) {
  return std::ranges::find(list, item) != list.end();
}

// A place, of a number that counts from the end if it is negative.
int64_t Counted(int64_t number, int64_t columns) {
  if (number >= 0) return number;
  return columns + number < 0 ? columns : columns + number;  // outside
}

}  // namespace

ColumnMatch MatchByName(const std::vector<std::string_view>& header,
                        const std::vector<std::string>& features,
                        const std::vector<std::string>& labels) {
  Places places = PlacesOf(header);
  ColumnMatch match{.feature = std::vector<int64_t>(header.size(), -1)};
  for (size_t f = 0; f < features.size(); ++f) {
    const int64_t column = Take(places, features[f]);
    if (column < 0)
      match.missing.push_back(features[f]);
    else
      match.feature[static_cast<size_t>(column)] = static_cast<int64_t>(f);
  }
  for (const std::string& label : labels) match.labels.push_back(Take(places, label));
  for (size_t i = 0; i < header.size(); ++i)
    if (match.feature[i] < 0 && !IsIn(match.labels, static_cast<int64_t>(i)))
      match.left_out.emplace_back(header[i]);
  return match;
}

bool ColumnChoice::HasNames() const {
  const auto names = [&](const char* key) {
    return options_.Has(key) && std::ranges::any_of(options_.Columns(key), [](const Value& column) {
             return column.AsString() != nullptr;
           });
  };
  return std::ranges::any_of(kColumnKeys, names);
}

bool ColumnChoice::Names(const std::string& name) const {
  for (const char* key : {"drop", "weight"})
    if (options_.Has(key) && IsIn(options_.Columns(key), Value(name))) return true;
  return false;
}

int64_t ColumnChoice::LabelPlace(int64_t columns) const {
  const List labels = options_.Columns("label");
  const int64_t* const number = labels.empty() ? nullptr : labels[0].AsInt();
  return number ? Counted(*number, columns) : -1;
}

std::vector<int64_t> ColumnChoice::Places(const LineReader& lines, const char* key,
                                          const std::vector<std::string>& header,
                                          int64_t columns) const {
  std::vector<int64_t> places;
  if (!options_.Has(key)) return places;
  for (const Value& column : options_.Columns(key)) {
    const std::string* const name = column.AsString();
    if (name && header.empty())
      lines.Fail(
          "data.{} names a column, and the file has no header; expected numbers, or names "
          "in its first line",
          key);
    const auto found = name ? std::ranges::find(header, *name) : header.end();
    if (name && found == header.end())
      lines.Fail("no column is named '{}', as data.{} says; there are {}", OneLine(*name), key,
                 ListOfNames(header));
    const int64_t place = name ? found - header.begin() : Counted(*column.AsInt(), columns);
    if (place < 0 || place >= columns)
      lines.Fail("{} columns; expected a {} in column {}", columns,
                 std::string_view(key) == "label" ? "label" : fmt::format("data.{}", key),
                 *column.AsInt());
    places.push_back(place);
  }
  return places;
}

void ColumnChoice::CheckLabels(const LineReader& lines, const std::vector<int64_t>& labels,
                               const std::vector<int64_t>& others) {
  for (const int64_t label : labels)
    if (IsIn(others, label) || std::ranges::count(labels, label) > 1)
      lines.Fail(
          "column {} is the label; expected another one in data.drop, data.weight or "
          "data.label",
          label);
}

ColumnMatch ColumnChoice::Match(const LineReader& lines, const std::vector<std::string>& header,
                                int64_t columns) const {
  ColumnMatch match{.feature = std::vector<int64_t>(static_cast<size_t>(columns), -1),
                    .labels = Places(lines, "label", header, columns)};
  const std::vector<int64_t> weight = Places(lines, "weight", header, columns),
                             drop = Places(lines, "drop", header, columns),
                             chosen = Places(lines, "columns", header, columns);
  if (!weight.empty()) match.weight = weight[0];
  CheckLabels(lines, match.labels, weight);
  CheckLabels(lines, match.labels, drop);
  int64_t feature = 0;
  for (int64_t i = 0; i < columns; ++i)
    if (!IsIn(match.labels, i) && !IsIn(weight, i) && !IsIn(drop, i) &&
        (chosen.empty() || IsIn(chosen, i)))
      match.feature[static_cast<size_t>(i)] = feature++;
  return match;
}

bool AreCountedNames(const std::vector<std::string_view>& cells, int64_t label) {
  double next = -1;
  int64_t counted = 0;
  bool label_is_number = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool is_label = static_cast<int64_t>(i) == label;
    double number = 0;
    if (!ParseNumber(cells[i], number)) {
      if (is_label || (i == 0 && cells[i].empty())) continue;
      return false;
    }
    if (next < 0 ? number != 0 && number != 1 : number != next) return false;
    next = number + 1;
    counted += !is_label;
    label_is_number = label_is_number || is_label;
  }
  return counted > (label_is_number ? 1 : 0);
}

std::string ListOfNames(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    list += fmt::format("{}'{}'", i ? ", " : "", OneLine(names[i]));
  return names.size() > kMost ? fmt::format("{}, ... ({} in all)", list, names.size()) : list;
}

}  // namespace yoke
