// Matches columns through a table of names.
#include "data/columns.h"

#include <fmt/core.h>

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

}  // namespace

ColumnMatch MatchByPlace(int64_t size, int64_t label) {
  ColumnMatch match{.feature = std::vector<int64_t>(static_cast<size_t>(size), -1), .label = label};
  int64_t feature = 0;
  for (int64_t i = 0; i < size; ++i)
    if (i != label) match.feature[static_cast<size_t>(i)] = feature++;
  return match;
}

ColumnMatch MatchByName(const std::vector<std::string_view>& header,
                        const std::vector<std::string>& features, const std::string& label) {
  Places places = PlacesOf(header);
  ColumnMatch match{.feature = std::vector<int64_t>(header.size(), -1)};
  for (size_t f = 0; f < features.size(); ++f) {
    const int64_t column = Take(places, features[f]);
    if (column < 0)
      match.missing.push_back(features[f]);
    else
      match.feature[static_cast<size_t>(column)] = static_cast<int64_t>(f);
  }
  match.label = Take(places, label);
  for (size_t i = 0; i < header.size(); ++i)
    if (match.feature[i] < 0 && static_cast<int64_t>(i) != match.label)
      match.left_out.emplace_back(header[i]);
  return match;
}

bool AreCountedNames(const std::vector<std::string_view>& cells, int64_t label) {
  double next = -1;
  int64_t numbers = 0;
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
    numbers += !is_label;
    label_is_number = label_is_number || is_label;
  }
  return numbers > (label_is_number ? 1 : 0);
}

std::string ListOfNames(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    list += fmt::format("{}'{}'", i ? ", " : "", OneLine(names[i]));
  return names.size() > kMost ? fmt::format("{}, ... ({} in all)", list, names.size()) : list;
}

}  // namespace yoke
