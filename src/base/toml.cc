// TOML text into values; the one place that knows toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/utf8.h"
#include "base/value.h"

namespace yoke {
namespace {

Value Convert(const toml::node& node, const std::string& name);

Value ConvertTable(const toml::table& table, const std::string& name) {
  Table result;
  for (const auto& [key, node] : table)
    result.emplace_back(std::string(key.str()), Convert(node, name));
  // toml++ sorts keys; the order of writing is told by the places.
  auto line = [&](const std::pair<std::string, Value>& entry) {
    const auto begin = table.get(entry.first)->source().begin;
    return std::pair(begin.line, begin.column);
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const auto& a, const auto& b) { return line(a) < line(b); });
  return result;
}

Value ConvertArray(const toml::array& array, const std::string& name) {
  List result;
  for (const toml::node& node : array) result.push_back(Convert(node, name));
  return result;
}

Value ConvertPlain(const toml::node& node, const std::string& place) {
  if (auto v = node.as_boolean()) return v->get();
  if (auto v = node.as_integer()) return v->get();
  if (auto v = node.as_floating_point()) return v->get();
  if (auto v = node.as_string()) return v->get();
  throw UserError(place + ": dates and times have no meaning here");
}

Value Convert(const toml::node& node, const std::string& name) {
  const std::string place = fmt::format("{}:{}", name, node.source().begin.line);
  Value value = node.is_table()   ? ConvertTable(*node.as_table(), name)
                : node.is_array() ? ConvertArray(*node.as_array(), name)
                                  : ConvertPlain(node, place);
  value.set_place(place);
  return value;
}

}  // namespace

Value ParseToml(std::string_view text, const std::string& name) {
  try {
    Value value = Convert(toml::parse(text, name), name);
    value.set_place(name);
    return value;
  } catch (const toml::parse_error& error) {
    throw UserError(fmt::format("{}:{}: this is not TOML: {}", name, error.source().begin.line,
                                error.description()));
  }
}

Value ReadToml(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (file.peek() != EOF)
    text << file.rdbuf();  // peeking fails on a directory, where opening does not
  Require(errno == 0 && file.is_open(), "cannot read {}: {}", path, std::strerror(errno));
  const std::string_view encoding = WideEncoding(text.view());
  Require(encoding.empty(), "{}: the file is {} text; expected UTF-8", path, encoding);
  return ParseToml(text.str(), path);
}

}  // namespace yoke
