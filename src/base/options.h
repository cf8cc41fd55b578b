// Options: what a part can be told, declared once; values are checked against the declaration.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace yoke {

/// What kind of value an option takes.
enum class OptionType {
  kBool,
  kInt,
  kFloat,
  kString,
  kPath,
  kInts,
  kFloats,
  kStrings,
  kPaths,
  kTable,
  kTables
};

/// The declaration of one option; the page of all job keys is generated from these.
struct OptionSpec {
  std::string name = {};
  OptionType type = OptionType::kString;
  Value fallback = {};    ///< The default; none: the option may be absent (Has tells).
  std::string help = {};  ///< One sentence for the page of keys.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;         ///< The minimum itself is refused (a rate of 0).
  std::vector<std::string> choices = {};  ///< If not empty, the only values a string may take.
  bool required = false;
};

/// Checked options of one part. Reading one that was not declared is an error of ours (Check).
class Options {
 public:
  Options() = default;
  /// Checks every key of `given` (a table, or none) against `specs`. Throws UserError: unknown key
  /// (with the nearest and the list), wrong type, out of range, missing. `section` ("train",
  /// "data", "model.layer[2]") stands before keys in messages.
  Options(std::string section, const Value& given, std::span<const OptionSpec> specs);

  bool Has(std::string_view name) const;
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Float(std::string_view name) const;
  const std::string& String(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;  ///< A number counts as a list of one.
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(
      std::string_view name) const;               ///< A string counts as a list of one.
  const Value& Raw(std::string_view name) const;  ///< A table or list of tables.

  const std::string& section() const { return section_; }
  /// `train.batch` and, when known, where it was written: the start of a message about this option.
  std::string Where(std::string_view name) const;
  /// All values, defaults included, as a table in declaration order (a resolved job is made of
  /// these).
  const Value& Resolved() const { return values_; }

 private:
  const Value& Get(std::string_view name) const;

  std::string section_;
  Value values_;
  std::vector<std::string> known_;
};

/// The one name among `known` that `name` is the beginning or a word of ("acc", "rate"), else the
/// closest by edit distance, or "" when none is near.
std::string Nearest(std::string_view name, std::span<const std::string> known);

/// "unknown KIND 'NAME'; did you mean 'X'? known: a, b, c": the sentence for every unknown name.
std::string UnknownName(std::string_view kind, std::string_view name,
                        std::span<const std::string> known);

}  // namespace yoke
