// The values of a job: overrides, paths, durations, texts, and the defaults of tables.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>

#include "base/check.h"
#include "base/utf8.h"
#include "data/reader.h"
#include "train/job/job.h"
#include "train/job/keys.h"

namespace yoke {
namespace {

/// Whether a value was set by a flag; the place of a file's value ends in a line number.
bool IsFlag(const std::string& place) {
  return place.starts_with("--") && place.find(':') == place.npos;
}

/// Parses the value of `key=value` on the command line.
Value ParseTyped(const Override& given) {
  const auto& [key, text, flag, is_text] = given;
  Require(text.find('\n') == text.npos, "{} {}: expected one line", flag, key);
  if (is_text) return text;
  try {
    return *ParseToml("value = " + text, key).Find("value");
  } catch (const UserError&) {
    Require(text.find_first_of("[]{}\"'") == text.npos, "{} {}: '{}' is not a TOML value", flag,
            key, text);
    return text;
  }
}

void MarkTyped(Value& value, const std::string& flag) {
  value.set_place(flag);
  if (List* list = value.AsList())
    for (Value& item : *list) MarkTyped(item, flag);
  if (Table* table = value.AsTable())
    for (auto& [name, item] : *table) MarkTyped(item, flag);
}

void ResolvePath(Value& value, const std::string& folder) {
  if (!value.AsString()) return;  // the type check reports it
  const std::string place = value.place();
  if (folder.empty() && !IsFlag(place)) return;
  std::filesystem::path path = ExpandEnvironment(*value.AsString());
  if (path.is_relative())
    path = (IsFlag(place) ? std::filesystem::current_path() : std::filesystem::path(folder)) / path;
  value = path.lexically_normal().string();
  value.set_place(place);
}

bool IsNameLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

void SetMissing(Value& section, const char* key, Value value) {
  if (!section.Find(key)) section.Set(key, std::move(value));
}

bool HasAny(const Value& section, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (section.Find(key)) return true;
  return false;
}

/// What the job's own keys look at, or the loss.
std::string WatchedMetric(const Value& root) {
  for (const auto& [section, key, option] : {std::tuple("checkpoint", "best", ""),
                                             {"train", "early_stopping", "metric"},
                                             {"train", "schedule", "metric"}}) {
    const Value* found = root.Find(section);
    if (found) found = found->Find(key);
    if (found && *option) found = found->Find(option);
    if (found && found->AsString()) return *found->AsString();
  }
  return "loss";
}

}  // namespace

void ApplyOverride(Value& root, const Override& given) {
  const std::string& key = given.key;
  Value* table = &root;
  size_t begin = 0;
  for (size_t dot; (dot = key.find('.', begin)) != key.npos; begin = dot + 1) {
    const std::string name = key.substr(begin, dot - begin);
    if (!table->Find(name)) {
      Value made = Table{};
      MarkTyped(made, given.flag);
      table->Set(name, std::move(made));
    }
    table = table->Find(name);
    Require(table->AsTable(), "{} {}: '{}' is not a table", given.flag, key, name);
  }
  Require(begin > 0 && begin < key.size(),
          "{} {}: expected section.key=value, such as train.epochs=10", given.flag, key);
  if (given.value.empty()) return table->Erase(key.substr(begin));
  Value value = ParseTyped(given);
  MarkTyped(value, given.flag);
  table->Set(key.substr(begin), value);
}

void ResolvePaths(Value& section, const std::vector<OptionSpec>& keys, const std::string& folder) {
  for (const OptionSpec& key : keys) {
    Value* value = section.Find(key.name);
    if (!value || (key.type != OptionType::kPath && key.type != OptionType::kPaths)) continue;
    ResolvePath(*value, folder);
    if (List* list = value->AsList())
      for (Value& item : *list) ResolvePath(item, folder);
  }
}

std::string Where(const Value& value, const std::string& key) {
  return value.place().empty() ? key : value.place() + ": " + key;
}

void RequireText(const Value& value, const std::string& key) {
  const auto* const text = value.AsString();
  Require(
      !text || (IsUtf8(*text) && text->find('\0') == text->npos),
      "{}: '{}' is not UTF-8 text without zero bytes; where it is the name of a file or folder, "
      "rename that",
      Where(value, key), text ? OneLine(*text) : "");
  if (const List* list = value.AsList())
    for (const Value& item : *list) RequireText(item, key);
  if (const Table* table = value.AsTable())
    for (const auto& [name, item] : *table)
      RequireText(item, key.empty() ? name : fmt::format("{}.{}", key, name));
}

std::string ExpandEnvironment(const std::string& path) {
  std::string result;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '$') {
      result += path[i];
      continue;
    }
    const bool braces = i + 1 < path.size() && path[i + 1] == '{';
    const size_t begin = i + (braces ? 2 : 1);
    size_t end = begin;
    while (end < path.size() && IsNameLetter(path[end])) ++end;
    const std::string name = path.substr(begin, end - begin);
    Require(!name.empty() && (!braces || (end < path.size() && path[end] == '}')),
            "the path '{}' has a $ that is not followed by a NAME or {{NAME}}", path);
    const char* value = std::getenv(name.c_str());
    Require(value, "the path '{}' needs the environment variable {}, which is not set", path, name);
    result += value;
    i = braces ? end : end - 1;
  }
  return result;
}

double ParseDuration(const std::string& text, const std::string& where) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  const std::string unit(rest, end);
  const double seconds = unit.empty() || unit == "s" ? 1
                         : unit == "m"               ? 60
                         : unit == "h"               ? 3600
                         : unit == "d"               ? 86400
                                                     : 0;
  Require(problem == std::errc() && seconds > 0 && std::isfinite(number) && number > 0,
          "{}: expected a duration such as 90s, 10m or 2h, got '{}'", where, text);
  return number * seconds;
}

void AddTableDefaults(Value& root) {
  const Value* given = root.Find("data");
  if (root.Find("model") || !given || !given->AsTable()) return;
  if (!IsOfKind(*given, FormatKind::kTable)) return;
  if (root.Find("train") && !root.Find("train")->AsTable()) return;
  // Of words there are many features, so that a wide first layer would make large checkpoints.
  root.Set("model",
           Table{{"name", "mlp"}, {"widths", given->Find("text") ? List{32} : List{128, 64}}});
  if (!root.Find("train")) root.Set("train", Table{});
  Value &train = *root.Find("train"), &data = *root.Find("data");
  const std::string metric = WatchedMetric(root);
  const bool has_rate = HasAny(train, {"rule", "learning_rate"});
  const bool has_length = HasAny(train, {"epochs", "target", "early_stopping"});
  if (!has_rate) {
    train.Set("rule", "adamw");
    train.Set("learning_rate", 0.003);
    SetMissing(train, "weight_decay", 0.3);
    SetMissing(train, "schedule",
               Table{{"name", "plateau"}, {"patience", 4}, {"factor", 0.3}, {"metric", metric}});
  }
  if (!has_length) {
    train.Set("epochs", 200);
    train.Set("early_stopping", Table{{"patience", 12}, {"metric", metric}});
  }
  if ((!has_rate || !has_length) && !HasAny(data, {"validation", "validation_share"}))
    data.Set("validation_share", 0.1);
}

}  // namespace yoke
