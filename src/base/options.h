// Options: the settings of a part, declared once. Values are checked against the declaration.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace yoke {

/// The type of an option's value.
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
  kColumns,  ///< Columns of a table, each by its name or its number.
  kTable,
  kTables
};

/// The declaration of one option. The page of all job keys is generated from these.
struct OptionSpec {
  std::string name = {};
  OptionType type = OptionType::kString;
  Value fallback = {};    ///< The default; none: the option may be absent (see Has).
  std::string help = {};  ///< One sentence for the page of keys.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;  ///< The minimum itself is not allowed (a rate of 0).
  bool exclusive_maximum = false;
  std::vector<std::string> choices = {};  ///< If not empty, the only values a string may take.
  bool required = false;
  /// Values that a planner compares with the default, each with those of the part's other options.
  std::vector<Value> tries = {};
};

/// The checked options of one part. Reading an undeclared option is a bug (Check).
class Options {
 public:
  Options() = default;
  /// Checks every key of `given` (a table, or none) against `specs`. Throws UserError: unknown key
  /// (with the nearest and the list), wrong type, out of range, missing. `section` ("train",
  /// "data", "model.layer[2]") precedes keys in messages.
  Options(std::string section, const Value& given, std::span<const OptionSpec> specs);

  bool Has(std::string_view name) const;
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Float(std::string_view name) const;
  const std::string& String(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;  ///< A number is a list of one.
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;  ///< A string is a list of one.
  List Columns(std::string_view name) const;      ///< A name or number is a list of one.
  const Value& Raw(std::string_view name) const;  ///< A table or list of tables.

  const std::string& section() const { return section_; }
  /// `train.batch`, preceded by where it was written if known: the start of a message about this
  /// option.
  std::string Where(std::string_view name) const;
  /// All values including defaults, as a table in declaration order (for the resolved job).
  const Value& Resolved() const { return values_; }

 private:
  const Value& Get(std::string_view name) const;

  std::string section_;
  Value values_;
  std::vector<std::string> known_;
};

/// Our word for one that other programs use for a key ("lr": "learning_rate"); "" if there is none.
std::string OtherWordFor(std::string_view word);

/// The only name in `known` that has `name` as a prefix or a word ("acc", "rate"); otherwise the
/// closest by edit distance, or "" if none is near.
std::string Nearest(std::string_view name, std::span<const std::string> known);

/// The message for an unknown name: "unknown KIND 'NAME'; did you mean 'X'? known: a, b, c".
std::string UnknownName(std::string_view kind, std::string_view name,
                        std::span<const std::string> known);

/// The largest value of keys that count steps, features or channels: a product of two fits 64 bits.
inline constexpr double kMostCount = 1e9;

/// The most replicas of a job, real or simulated.
inline constexpr double kMostRanks = 1e6;

/// The largest of a window's kernel, stride, padding and dilation.
inline constexpr double kMostPixels = 1e6;

/// The option `form` of a method that has two: "paper", as published, and `other`. `help` says
/// what differs.
inline OptionSpec FormOption(const char* other, bool paper_by_default, const char* help) {
  return {.name = "form",
          .type = OptionType::kString,
          .fallback = paper_by_default ? "paper" : other,
          .help = help,
          .choices = {"paper", other}};
}
inline bool IsPaperForm(const Options& options) { return options.String("form") == "paper"; }

}  // namespace yoke
