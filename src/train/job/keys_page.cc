// The page that lists all keys of a job.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>
#include <tuple>

#include "base/options.h"
#include "train/job/job.h"
#include "train/job/keys.h"

namespace yoke {
namespace {

using enum OptionType;

constexpr std::string_view kHead = R"(# All keys of a job file

A key is set in the job file or by `--set section.key=value`. Paths may hold `$NAME` and
`${NAME}` of the environment; relative ones start at the job file. The run's `job.toml` and
its checkpoints hold what paths have become: absolute, with the value of `$NAME`. Counts
are at most 1,000,000,000.
)";

std::string TypeText(const OptionSpec& spec) {
  switch (spec.type) {
    case kBool:
      return "true or false";
    case kInt:
      return "whole number";
    case kFloat:
      return "number";
    case kString:
      return "string";
    case kPath:
      return "path";
    case kInts:
      return "list of whole numbers";
    case kFloats:
      return "list of numbers";
    case kStrings:
      return "string or list of strings";
    case kPaths:
      return "path or list of paths";
    case kColumns:
      return "column's name or number, or list of them";
    case kTable:
      return "table";
    case kTables:
      return "list of tables";
  }
  return "";
}

std::string RangeText(const OptionSpec& spec) {
  std::string text;
  if (spec.minimum > -1e300)
    text = fmt::format("{} {}", spec.exclusive_minimum ? "above" : "at least", spec.minimum);
  if (spec.maximum < 1e300 && !(spec.type == kInt && spec.maximum == kMostCount))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        spec.exclusive_maximum ? "below" : "at most", spec.maximum);
  for (const std::string& choice : spec.choices)
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", choice);
  return text.empty() ? "" : fmt::format(" ({})", text);
}

std::string DefaultText(const OptionSpec& spec) {
  if (spec.required) return "required";
  return spec.fallback.IsNone() ? "" : "`" + FormatValue(spec.fallback) + "`";
}

/// "strategy" and "async_sgd" of the group "strategy async_sgd".
std::string KindOf(const KeyGroup& group) { return group.part.substr(0, group.part.find(' ')); }
std::string NameOf(const KeyGroup& group) { return group.part.substr(group.part.find(' ') + 1); }

std::string TextOf(const OptionSpec& key) {
  return fmt::format("{}{} | {} | {}", TypeText(key), RangeText(key), DefaultText(key), key.help);
}

using Parts = std::vector<std::string>;
/// The parts that have a key, by its section, name and text.
using PartsOfKeys = std::map<std::tuple<std::string, std::string, std::string>, Parts>;

PartsOfKeys PartsIn(const std::vector<KeyGroup>& groups) {
  PartsOfKeys parts;
  for (const KeyGroup& group : groups)
    if (!group.part.empty())
      for (const OptionSpec& key : group.options)
        parts[{group.section, key.name, TextOf(key)}].push_back(NameOf(group));
  return parts;
}

/// A heading and the rows of a table with these columns; "" without rows.
std::string MarkdownTable(const std::string& heading, const Parts& columns,
                          const std::string& rows) {
  if (rows.empty()) return "";
  std::string rule;
  for (size_t i = 0; i < columns.size(); ++i) rule += " --- |";
  return fmt::format("\n## {}\n\n| {} |\n|{}\n{}", heading, fmt::join(columns, " | "), rule, rows);
}

/// The keys that several parts of `first`'s section share, each where the first of them has it.
std::string SharedTable(const KeyGroup& first, const std::vector<KeyGroup>& groups,
                        const PartsOfKeys& parts) {
  std::string rows;
  for (const KeyGroup& group : groups) {
    if (group.section != first.section || group.part.empty()) continue;
    for (const OptionSpec& key : group.options)
      if (const Parts& its = parts.at({group.section, key.name, TextOf(key)});
          its.size() > 1 && its.front() == NameOf(group))
        rows += fmt::format("| `{}` | {} | {} |\n", key.name, fmt::join(its, ", "), TextOf(key));
  }
  return MarkdownTable(fmt::format("[{}], shared keys", first.section),
                       {"key", KindOf(first), "value", "default", "meaning"}, rows);
}

std::string OwnTable(const KeyGroup& group, const PartsOfKeys& parts) {
  std::string rows;
  for (const OptionSpec& key : group.options)
    if (group.part.empty() || parts.at({group.section, key.name, TextOf(key)}).size() == 1)
      rows += fmt::format("| `{}` | {} |\n", key.name, TextOf(key));
  return MarkdownTable(
      fmt::format("[{}]{}", group.section, group.part.empty() ? "" : " with " + group.part),
      {"key", "value", "default", "meaning"}, rows);
}

}  // namespace

std::string KeysPage() {
  std::string page(kHead);
  const std::vector<KeyGroup> groups = AllKeys();
  const PartsOfKeys parts = PartsIn(groups);
  std::string shared;  // the section whose shared keys are on the page
  for (const KeyGroup& group : groups) {
    if (!group.part.empty() && group.section != shared) {
      page += SharedTable(group, groups, parts);
      shared = group.section;
    }
    page += OwnTable(group, parts);
  }
  return page;
}

}  // namespace yoke
