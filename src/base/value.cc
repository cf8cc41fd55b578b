// Value: lookups in the tree, and its TOML text.
#include "base/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace yoke {
namespace {

bool IsBareKey(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\', quoted += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04X}", c);
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + '"';
}

std::string KeyText(const std::string& key) { return IsBareKey(key) ? key : Quoted(key); }

std::string NumberText(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", x);  // the shortest text that reads back as x
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

bool IsTableList(const Value& value) {
  return value.AsList() && !value.AsList()->empty() &&
         std::all_of(value.AsList()->begin(), value.AsList()->end(),
                     [](const Value& item) { return item.AsTable() != nullptr; });
}

void FormatTable(const Table& table, const std::string& path, std::string& text) {
  for (const auto& [key, value] : table)
    if (!value.IsNone() && !value.AsTable() && !IsTableList(value))
      text += KeyText(key) + " = " + FormatValue(value) + "\n";
  for (const auto& [key, value] : table) {
    const std::string name = path.empty() ? KeyText(key) : path + "." + KeyText(key);
    if (value.AsTable()) {
      text += "\n[" + name + "]\n";
      FormatTable(*value.AsTable(), name, text);
    } else if (IsTableList(value)) {
      for (const Value& item : *value.AsList()) {
        text += "\n[[" + name + "]]\n";
        FormatTable(*item.AsTable(), name, text);
      }
    }
  }
}

template <typename Items, typename Format>
std::string Joined(const Items& items, Format format) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + format(item);
  return text;
}

}  // namespace

const Value* Value::Find(std::string_view key) const {
  if (const Table* table = AsTable())
    for (const auto& [name, value] : *table)
      if (name == key) return &value;
  return nullptr;
}

Value* Value::Find(std::string_view key) {
  return const_cast<Value*>(static_cast<const Value*>(this)->Find(key));
}

std::optional<double> Value::AsNumber() const {
  if (AsInt()) return static_cast<double>(*AsInt());
  return AsFloat() ? std::optional(*AsFloat()) : std::nullopt;
}

void Value::Set(const std::string& key, Value value) {
  if (Value* found = Find(key)) {
    *found = std::move(value);
    return;
  }
  if (!AsTable()) data_ = Table{};
  AsTable()->emplace_back(key, std::move(value));
}

void Value::Erase(std::string_view key) {
  if (Table* table = AsTable())
    std::erase_if(*table, [&](const auto& entry) { return entry.first == key; });
}

std::string FormatValue(const Value& value) {
  if (const bool* v = value.AsBool()) return *v ? "true" : "false";
  if (const int64_t* v = value.AsInt()) return std::to_string(*v);
  if (const double* v = value.AsFloat()) return NumberText(*v);
  if (const std::string* v = value.AsString()) return Quoted(*v);
  if (const List* v = value.AsList()) return "[" + Joined(*v, FormatValue) + "]";
  if (const Table* v = value.AsTable()) {
    return "{ " +
           Joined(*v,
                  [](const auto& entry) {
                    return KeyText(entry.first) + " = " + FormatValue(entry.second);
                  }) +
           " }";
  }
  return "nothing";
}

std::string FormatToml(const Value& table) {
  std::string text;
  if (table.AsTable()) FormatTable(*table.AsTable(), "", text);
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

}  // namespace yoke
