// Value: a tree of plain values (a job file, a layer's description), each with the place where it
// was written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace yoke {

class Value;
using List = std::vector<Value>;
/// A table preserves the order of its keys.
using Table = std::vector<std::pair<std::string, Value>>;

class Value {
 public:
  Value() = default;
  Value(bool v) : data_(v) {}                       // NOLINT(google-explicit-constructor)
  Value(int v) : data_(static_cast<int64_t>(v)) {}  // NOLINT(google-explicit-constructor)
  Value(int64_t v) : data_(v) {}                    // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                     // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}   // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}     // NOLINT(google-explicit-constructor)
  Value(List v) : data_(std::move(v)) {}            // NOLINT(google-explicit-constructor)
  Value(Table v) : data_(std::move(v)) {}           // NOLINT(google-explicit-constructor)

  bool IsNone() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* AsBool() const { return std::get_if<bool>(&data_); }
  const int64_t* AsInt() const { return std::get_if<int64_t>(&data_); }
  const double* AsFloat() const { return std::get_if<double>(&data_); }
  /// A whole number or a float; otherwise nothing.
  std::optional<double> AsNumber() const;
  const std::string* AsString() const { return std::get_if<std::string>(&data_); }
  const List* AsList() const { return std::get_if<List>(&data_); }
  List* AsList() { return std::get_if<List>(&data_); }
  const Table* AsTable() const { return std::get_if<Table>(&data_); }
  Table* AsTable() { return std::get_if<Table>(&data_); }

  /// The value of a table's key; null if this is not a table or has no such key.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  /// Adds or replaces a key of a table (an empty value becomes a table).
  void Set(const std::string& key, Value value);
  /// Removes a key of a table if it exists.
  void Erase(std::string_view key);

  /// Where it was written ("job.toml:12"); empty for values not from a file.
  const std::string& place() const { return place_; }
  void set_place(std::string place) { place_ = std::move(place); }

  bool operator==(const Value& other) const { return data_ == other.data_; }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Table> data_;
  std::string place_;
};

/// Reads a TOML file. Throws UserError with file, line and what was expected.
Value ReadToml(const std::string& path);
/// Reads TOML text; `name` is the file's name in messages.
Value ParseToml(std::string_view text, const std::string& name);
/// TOML text that parses to the same value.
std::string FormatToml(const Value& table);
/// A value as one line of TOML ("[1, 2]", "\"adam\"").
std::string FormatValue(const Value& value);

/// Takes a value of the State that an executor or a strategy saves in a checkpoint; one that is
/// missing or of another type leaves `into` as it is.
inline void ReadSaved(const Value& state, const char* key, int64_t& into) {
  if (const Value* value = state.Find(key); value && value->AsInt()) into = *value->AsInt();
}
inline void ReadSaved(const Value& state, const char* key, double& into) {
  if (const Value* value = state.Find(key); value && value->AsFloat()) into = *value->AsFloat();
}
inline void ReadSaved(const Value& state, const char* key, bool& into) {
  if (const Value* value = state.Find(key); value && value->AsBool()) into = *value->AsBool();
}

}  // namespace yoke
