// Command: a sub-command of the program: its name, arguments and action.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/output.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
class Option;
}  // namespace CLI

namespace yoke {

/// An option that has been declared: what its value may be.
class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option* option) : option_(option) {}
  void Within(int64_t least, int64_t most) const;
  void OneOf(const std::vector<std::string>& words) const;
  /// `refusal` returns what is wrong with a value, or "".
  void Check(const std::function<std::string(const std::string& value)>& refusal) const;
  /// A list, separated by commas.
  void Commas() const;
  /// A list: one item each time that the option stands.
  void OneEach() const;

 private:
  CLI::Option* option_;
};

/// Where the value of an argument goes: a variable, or a function that is called with it.
using ValueTarget =
    std::variant<std::string*, int*, int64_t*, double*, std::optional<int>*,
                 std::vector<std::string>*, std::function<void(const std::string&)>,
                 std::function<void(const int64_t&)>, std::function<void(const double&)>>;

/// The arguments of a command: declared first, then parsed. Only command.cc parses CLI11's headers.
class Arguments {
 public:
  /// `command` ("yoke train"), `summary` and `details` (after the options) are for the help.
  Arguments(const std::string& command, const std::string& summary, const std::string& details);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// A word without dashes, by its place; a list takes all that are left.
  void Place(const std::string& name, const ValueTarget& target, const std::string& help);
  /// `--name VALUE`.
  DeclaredOption Option(const std::string& name, const std::string& value,
                        const ValueTarget& target, const std::string& help);
  void Flag(const std::string& name, bool* target, const std::string& help);

  /// False if help was asked for. Throws UserError for values that do not fit.
  bool Parse(std::vector<std::string> words);
  std::string Help() const;
  /// Parsed words that are no declared arguments.
  std::vector<std::string> Unknown() const;
  /// "--set", "--quiet", ...
  std::vector<std::string> OptionNames() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// Replaces `examples/demo.toml` and `docs/first-hour.md` in a help text by paths that can be
/// opened from the current directory: unchanged if they exist there, otherwise in this program's
/// clone or installation.
std::string WithShippedFiles(std::string text);

class Command {
 public:
  virtual ~Command() = default;
  /// Declares arguments and options, whose values are stored in members. (`--json` and `--help` are
  /// common to all.)
  virtual void Declare(Arguments& arguments) = 0;
  /// Runs the command and returns the exit status. Throws UserError and Error with one sentence
  /// each.
  virtual int Run(Output& out) = 0;
};

struct CommandEntry {
  std::string name;
  std::string group;    ///< Heading in `yoke --help`.
  std::string summary;  ///< One line.
  /// Shown after the options in `yoke NAME --help`: description and examples.
  std::string details;
  std::unique_ptr<Command> (*make)();
  bool together = false;  ///< Runs on all processes of a launcher, otherwise on rank 0.
};
/// All commands, in the order of `yoke --help`.
const std::vector<CommandEntry>& Commands();

}  // namespace yoke
