// JSON: a tree of values as text and back, and the fields of a table that was read, checked for
// their kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/value.h"

namespace yoke {

/// JSON on one line or, with `indent`, on a line each value, so many spaces further in at each
/// level. Empty values and numbers that are not finite become null; bytes that are not UTF-8 are
/// replaced.
std::string FormatJson(const Value& value, int indent = -1);

/// Empty if the text is not JSON, or nested more than 100 levels deep. A whole number above
/// INT64_MAX becomes a float.
Value ParseJson(std::string_view text);

/// The version of the library that does both.
std::string JsonVersion();

/// The items of a container.
template <typename Items>
List ListOf(const Items& items) {
  return List(items.begin(), items.end());
}
/// The same of pairs of keys and values.
template <typename Items>
Table TableOf(const Items& items) {
  return Table(items.begin(), items.end());
}

/// The entries of both, whose keys differ.
Table Join(Table first, Table second);

/// A field of a table. Each throws UserError with the key if it is absent or of another kind.
const Value& FieldAt(const Value& table, std::string_view key);
bool BoolAt(const Value& table, std::string_view key);
int64_t IntAt(const Value& table, std::string_view key);
double NumberAt(const Value& table, std::string_view key);  ///< Whole or not.
std::string TextAt(const Value& table, std::string_view key);
const List& ListAt(const Value& table, std::string_view key);
const Value& TableAt(const Value& table, std::string_view key);
/// The items of a list.
std::vector<double> NumbersAt(const Value& table, std::string_view key);
std::vector<std::string> TextsAt(const Value& table, std::string_view key);
[[noreturn]] void WrongKind(std::string_view key, const char* expected, const Value& value);

}  // namespace yoke
