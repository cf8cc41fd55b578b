// JSON: the only use of nlohmann's library.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDeepest = 100;  // a tree is used and destroyed recursively

Json JsonOf(const Value& value) {
  if (value.AsBool()) return *value.AsBool();
  if (value.AsInt()) return *value.AsInt();
  if (value.AsFloat()) return *value.AsFloat();
  if (value.AsString()) return *value.AsString();
  if (const List* list = value.AsList()) {
    Json::array_t items;
    for (const Value& item : *list) items.push_back(JsonOf(item));
    return items;
  }
  if (!value.AsTable()) return nullptr;
  Json::object_t items;
  for (const auto& [key, item] : *value.AsTable())
    items.Json::object_t::Container::emplace_back(key, JsonOf(item));  // searches for no equal key
  return items;
}

/// Builds the tree while the text is read.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Value Take() { return std::move(root_); }

  bool null() override { return Add({}); }
  bool boolean(bool v) override { return Add(v); }
  bool number_integer(int64_t v) override { return Add(v); }
  bool number_unsigned(uint64_t v) override {
    return v <= INT64_MAX ? Add(static_cast<int64_t>(v)) : Add(static_cast<double>(v));
  }
  bool number_float(double v, const std::string& /*text*/) override { return Add(v); }
  bool string(std::string& v) override { return Add(std::move(v)); }
  bool binary(binary_t& /*v*/) override { return false; }
  bool start_object(size_t /*size*/) override { return Begin(Table()); }
  bool start_array(size_t /*size*/) override { return Begin(List()); }
  bool key(std::string& v) override { return keys_.back() = std::move(v), true; }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }
  bool parse_error(size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*why*/) override {
    return false;
  }

 private:
  bool Begin(Value empty) {
    open_.push_back(std::move(empty));
    keys_.emplace_back();
    return open_.size() <= kDeepest;
  }
  bool End() {
    Value whole = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Add(std::move(whole));
  }
  bool Add(Value v) {
    if (open_.empty())
      root_ = std::move(v);
    else if (List* list = open_.back().AsList())
      list->push_back(std::move(v));
    else
      open_.back().AsTable()->emplace_back(std::move(keys_.back()), std::move(v));
    return true;
  }

  Value root_;
  std::vector<Value> open_;        // lists and tables whose end has not come
  std::vector<std::string> keys_;  // of each, the last
};

/// The value behind a pointer such as Value::AsInt gives.
template <typename T>
const T& As(const T* found, std::string_view key, const char* expected, const Value& value) {
  if (!found) WrongKind(key, expected, value);
  return *found;
}

double NumberIn(const Value& value, std::string_view key) {
  const std::optional<double> number = value.AsNumber();
  return As(number ? &*number : nullptr, key, "a number", value);
}

std::string TextIn(const Value& value, std::string_view key) {
  return As(value.AsString(), key, "a string", value);
}

}  // namespace

std::string FormatJson(const Value& value, int indent) {
  return JsonOf(value).dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Value ParseJson(std::string_view text) {
  Builder builder;
  return Json::sax_parse(text, &builder) ? builder.Take() : Value();
}

std::string JsonVersion() {
  return fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
}

void WrongKind(std::string_view key, const char* expected, const Value& value) {
  constexpr size_t kShown = 40;
  const std::string text = FormatJson(value);
  throw UserError(fmt::format("{}: expected {}, got {}{}", key, expected, text.substr(0, kShown),
                              text.size() > kShown ? "..." : ""));
}

Table Join(Table first, Table second) {
  std::ranges::move(second, std::back_inserter(first));
  return first;
}

const Value& FieldAt(const Value& table, std::string_view key) {
  const Value* field = table.Find(key);
  Require(field != nullptr, "it has no '{}'", key);
  return *field;
}

bool BoolAt(const Value& table, std::string_view key) {
  const Value& value = FieldAt(table, key);
  return As(value.AsBool(), key, "true or false", value);
}

int64_t IntAt(const Value& table, std::string_view key) {
  const Value& value = FieldAt(table, key);
  return As(value.AsInt(), key, "a whole number", value);
}

double NumberAt(const Value& table, std::string_view key) {
  return NumberIn(FieldAt(table, key), key);
}

std::string TextAt(const Value& table, std::string_view key) {
  return TextIn(FieldAt(table, key), key);
}

const List& ListAt(const Value& table, std::string_view key) {
  const Value& value = FieldAt(table, key);
  return As(value.AsList(), key, "a list", value);
}

const Value& TableAt(const Value& table, std::string_view key) {
  const Value& value = FieldAt(table, key);
  As(value.AsTable(), key, "an object", value);
  return value;
}

std::vector<double> NumbersAt(const Value& table, std::string_view key) {
  std::vector<double> numbers;
  for (const Value& item : ListAt(table, key)) numbers.push_back(NumberIn(item, key));
  return numbers;
}

std::vector<std::string> TextsAt(const Value& table, std::string_view key) {
  std::vector<std::string> texts;
  for (const Value& item : ListAt(table, key)) texts.push_back(TextIn(item, key));
  return texts;
}

}  // namespace yoke
