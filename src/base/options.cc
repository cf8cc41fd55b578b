// Options: checks given values against declarations.
#include "base/options.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>

#include "base/check.h"

namespace yoke {
namespace {

std::string TypeName(OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kInt:
      return "a whole number";
    case OptionType::kFloat:
      return "a number";
    case OptionType::kString:
      return "a string in quotes";
    case OptionType::kPath:
      return "a path in quotes";
    case OptionType::kInts:
      return "a whole number or a list of whole numbers";
    case OptionType::kFloats:
      return "a list of numbers";
    case OptionType::kStrings:
      return "a string or a list of strings";
    case OptionType::kPaths:
      return "a path or a list of paths";
    case OptionType::kColumns:
      return "a column's name in quotes or its number, or a list of them";
    case OptionType::kTable:
      return "a table";
    case OptionType::kTables:
      return "a list of tables";
  }
  return "a value";
}

constexpr size_t kLongestName = 100;  ///< A longer one is not a mistyped name.

bool IsNumber(const Value& value) { return value.AsNumber().has_value(); }

template <typename Test>
bool AllOf(const Value& value, Test test) {
  return value.AsList() && std::all_of(value.AsList()->begin(), value.AsList()->end(), test);
}

bool HasType(const Value& value, OptionType type) {
  auto is_int = [](const Value& v) { return v.AsInt() != nullptr; };
  auto is_string = [](const Value& v) { return v.AsString() != nullptr; };
  auto is_column = [](const Value& v) { return v.AsString() || v.AsInt(); };
  switch (type) {
    case OptionType::kBool:
      return value.AsBool();
    case OptionType::kInt:
      return value.AsInt();
    case OptionType::kFloat:
      return IsNumber(value);
    case OptionType::kString:
    case OptionType::kPath:
      return value.AsString();
    case OptionType::kInts:
      return value.AsInt() || AllOf(value, is_int);
    case OptionType::kFloats:
      return AllOf(value, IsNumber);
    case OptionType::kStrings:
    case OptionType::kPaths:
      return value.AsString() || AllOf(value, is_string);
    case OptionType::kColumns:
      return is_column(value) || AllOf(value, is_column);
    case OptionType::kTable:
      return value.AsTable();
    case OptionType::kTables:
      return AllOf(value, [](const Value& v) { return v.AsTable() != nullptr; });
  }
  return false;
}

/// A bound as a person writes it: 1000000000, not 1e+09.
std::string BoundText(double bound) {
  constexpr double kLongest = 1e15;
  const bool whole = bound == std::trunc(bound) && std::abs(bound) < kLongest;
  return whole ? fmt::format("{:.0f}", bound) : fmt::format("{}", bound);
}

std::string Range(const OptionSpec& spec) {
  const std::string low =
      std::isinf(spec.minimum)
          ? ""
          : (spec.exclusive_minimum ? "above " : "at least ") + BoundText(spec.minimum);
  const std::string high =
      std::isinf(spec.maximum)
          ? ""
          : (spec.exclusive_maximum ? "below " : "at most ") + BoundText(spec.maximum);
  return low.empty() || high.empty() ? low + high : low + " and " + high;
}

void CheckNumber(const OptionSpec& spec, const Value& value, const std::string& where) {
  const double x = *value.AsNumber();
  const bool fits = x >= spec.minimum && x <= spec.maximum &&
                    !(spec.exclusive_minimum && x == spec.minimum) &&
                    !(spec.exclusive_maximum && x == spec.maximum);
  Require(std::isfinite(x), "{}: expected a finite number, got {}", where, FormatValue(value));
  Require(fits, "{}: expected {}, got {}", where, Range(spec), FormatValue(value));
}

void CheckValue(const OptionSpec& spec, const Value& value, const std::string& where) {
  Require(HasType(value, spec.type), "{}: expected {}, got {}", where, TypeName(spec.type),
          FormatValue(value));
  if (IsNumber(value)) CheckNumber(spec, value, where);
  if (value.AsList())
    for (const Value& item : *value.AsList())
      if (IsNumber(item)) CheckNumber(spec, item, where);
  if (!spec.choices.empty() && value.AsString() &&
      std::find(spec.choices.begin(), spec.choices.end(), *value.AsString()) ==
          spec.choices.end()) {
    throw UserError(where + ": " + UnknownName("value", *value.AsString(), spec.choices));
  }
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Whether a name is the beginning of the other, or one of the words that it is made of.
bool IsPartOf(std::string_view part, std::string_view name) {
  const size_t at = name.find(part);
  const bool begins = at == 0 || (at != name.npos && name[at - 1] == '_');
  const size_t end = at + part.size();
  return part.size() >= 3 && begins && (at == 0 || end == name.size() || name[end] == '_');
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string Join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string Placed(const Value& value, const std::string& name) {
  return value.place().empty() ? name : value.place() + ": " + name;
}

std::string WhereOf(const std::string& section, std::string_view name, const Value& value) {
  return Placed(value, section.empty() ? std::string(name) : fmt::format("{}.{}", section, name));
}

}  // namespace

Options::Options(std::string section, const Value& given, std::span<const OptionSpec> specs)
    : section_(std::move(section)), values_(Table{}) {
  Require(given.IsNone() || given.AsTable(), "{}: expected a table, got {}", section_,
          FormatValue(given));
  for (const OptionSpec& spec : specs) known_.push_back(spec.name);
  if (given.AsTable()) {
    for (const auto& [key, value] : *given.AsTable()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        throw UserError(UnknownName(value.place().empty() ? "key" : value.place() + ": unknown key",
                                    section_.empty() ? key : section_ + "." + key, known_));
    }
  }
  for (const OptionSpec& spec : specs) {
    const Value* value = given.Find(spec.name);
    Require(value || !spec.required, "{}: the key '{}' is missing: {}", Placed(given, section_),
            spec.name, spec.help);
    if (value) CheckValue(spec, *value, WhereOf(section_, spec.name, *value));
    if (value || !spec.fallback.IsNone()) values_.Set(spec.name, value ? *value : spec.fallback);
  }
}

const Value& Options::Get(std::string_view name) const {
  Check(std::find(known_.begin(), known_.end(), name) != known_.end(),
        fmt::format("option '{}' of '{}' was never declared", name, section_));
  const Value* value = values_.Find(name);
  Require(value != nullptr, "{}: the key '{}' is missing", section_, name);
  return *value;
}

bool Options::Has(std::string_view name) const {
  Check(std::find(known_.begin(), known_.end(), name) != known_.end(),
        fmt::format("option '{}' of '{}' was never declared", name, section_));
  return values_.Find(name) != nullptr;
}

bool Options::Bool(std::string_view name) const { return *Get(name).AsBool(); }
int64_t Options::Int(std::string_view name) const { return *Get(name).AsInt(); }
double Options::Float(std::string_view name) const { return *Get(name).AsNumber(); }
const std::string& Options::String(std::string_view name) const { return *Get(name).AsString(); }
const Value& Options::Raw(std::string_view name) const { return Get(name); }

std::vector<int64_t> Options::Ints(std::string_view name) const {
  const Value& value = Get(name);
  if (value.AsInt()) return {*value.AsInt()};
  std::vector<int64_t> result;
  for (const Value& item : *value.AsList()) result.push_back(*item.AsInt());
  return result;
}

std::vector<double> Options::Floats(std::string_view name) const {
  std::vector<double> result;
  for (const Value& item : *Get(name).AsList()) result.push_back(*item.AsNumber());
  return result;
}

std::vector<std::string> Options::Strings(std::string_view name) const {
  const Value& value = Get(name);
  if (value.AsString()) return {*value.AsString()};
  std::vector<std::string> result;
  for (const Value& item : *value.AsList()) result.push_back(*item.AsString());
  return result;
}

List Options::Columns(std::string_view name) const {
  const Value& value = Get(name);
  return value.AsList() ? *value.AsList() : List{value};
}

std::string Options::Where(std::string_view name) const {
  const Value* value = values_.Find(name);
  return WhereOf(section_, name, value ? *value : Value());
}

std::string OtherWordFor(std::string_view word) {
  static const std::map<std::string_view, std::string_view> words = {
      {"lr", "learning_rate"},      {"eta", "learning_rate"},
      {"optimizer", "rule"},        {"optim", "rule"},
      {"batch_size", "batch"},      {"wd", "weight_decay"},
      {"lr_scheduler", "schedule"}, {"scheduler", "schedule"},
      {"num_epochs", "epochs"},     {"n_epochs", "epochs"},
      {"random_state", "seed"}};
  const auto found = words.find(word);
  return found == words.end() ? "" : std::string(found->second);
}

std::string Nearest(std::string_view name, std::span<const std::string> known) {
  const std::string lower = Lower(name), other = OtherWordFor(lower);
  for (const std::string& candidate : known)
    if (candidate == lower || candidate == other) return candidate;
  const auto part = [&](const std::string& candidate) { return IsPartOf(name, candidate); };
  if (std::count_if(known.begin(), known.end(), part) == 1)
    return *std::find_if(known.begin(), known.end(), part);
  std::string best;
  if (name.size() > kLongestName) return best;
  int distance = static_cast<int>(name.size()) / 2 + 1;
  for (const std::string& candidate : known) {
    const int d = EditDistance(name, candidate);
    if (d < distance) distance = d, best = candidate;
  }
  return best;
}

std::string UnknownName(std::string_view kind, std::string_view name,
                        std::span<const std::string> known) {
  const size_t dot = name.rfind('.');
  const std::string near = Nearest(dot == name.npos ? name : name.substr(dot + 1), known);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  const bool told = kind.find("unknown") != kind.npos;
  return fmt::format("{}{} '{}'{} (known: {})", told ? "" : "unknown ", kind, name, hint,
                     Join(known));
}

}  // namespace yoke
