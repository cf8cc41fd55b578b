// Command: a sub-command of the program: its name, arguments and action.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/output.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace yoke {

class Command {
 public:
  virtual ~Command() = default;
  /// Declares arguments and options, whose values are stored in members. (`--json` and `--help` are
  /// common to all.)
  virtual void Declare(CLI::App& app) = 0;
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

/// All commands, in the order of `yoke --help`. Each is one file: src/cli/<name>.cc.
const std::vector<CommandEntry>& commands();

}  // namespace yoke
