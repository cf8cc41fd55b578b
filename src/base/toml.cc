// TOML text into values; the one place that knows toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/utf8.h"
#include "base/value.h"

namespace yoke {
namespace {

/// toml++ makes a table of each part of a dotted key and goes through them by recursion.
constexpr int kMostParts = 64;

/// Goes through TOML text up to the end of what begins at `at`: a comment or a string. Both may
/// hold dots that divide no key.
size_t SkipQuoted(std::string_view text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  const std::string_view quote = text.substr(at, 1);
  const bool long_one = text.substr(at, 3) == std::string(3, text[at]);
  const std::string_view end = long_one ? text.substr(at, 3) : quote;
  for (at += end.size(); at < text.size() && !text.substr(at).starts_with(end); ++at) {
    if (!long_one && text[at] == '\n') return at;  // the parser says what is wrong
    if (text[at] == '\\' && quote == "\"") ++at;
  }
  return std::min(at + end.size(), text.size());
}

void CheckDottedKeys(std::string_view text, const std::string& name) {
  int parts = 1, line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#' || c == '"' || c == '\'') {
      const size_t end = SkipQuoted(text, at);
      line += static_cast<int>(std::count(text.begin() + at, text.begin() + end, '\n'));
      at = end;
      continue;
    }
    if (c == '\n') ++line;
    if (c == '.')
      Require(++parts <= kMostParts, "{}:{}: expected a key of at most {} parts", name, line,
              kMostParts);
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) parts = 1;
    ++at;
  }
}

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
  throw UserError(place + ": dates and times are not supported");
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
  CheckDottedKeys(text, name);
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
  constexpr size_t kMost = size_t{1} << 26;  // a device such as /dev/zero has no end
  std::string text;
  std::string piece(1 << 16, '\0');
  while (file && text.size() <= kMost) {
    file.read(piece.data(), std::ssize(piece));
    text.append(piece, 0, static_cast<size_t>(file.gcount()));
  }
  Require(errno == 0 && file.is_open(), "cannot read {}: {}", path, std::strerror(errno));
  Require(text.size() <= kMost, "{} has more than {} MB; expected a TOML file of a few lines", path,
          kMost >> 20);
  const std::string_view encoding = WideEncoding(text);
  Require(encoding.empty(), "{}: the file is {} text; expected UTF-8", path, encoding);
  return ParseToml(text, path);
}

}  // namespace yoke
