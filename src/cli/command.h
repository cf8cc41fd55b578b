// Command: a sub-command of the program: what it is called, what it takes, what it does.
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
  /// Declares arguments and options; their values land in members. (`--json` and `--help` are
  /// everybody's.)
  virtual void Declare(CLI::App& app) = 0;
  /// Does it; returns the exit status. Throws UserError and Error with one sentence each.
  virtual int Run(Output& out) = 0;
};

struct CommandEntry {
  std::string name;
  std::string group;    ///< Heading in `yoke --help`.
  std::string summary;  ///< One line.
  std::string details;  ///< After the options in `yoke NAME --help`: what it does, with examples.
  std::unique_ptr<Command> (*make)();
  bool together = false;  ///< All processes of a launcher work on it; else rank 0 alone does.
};

/// All commands, in the order of `yoke --help`. Each is one file: src/cli/<name>.cc.
const std::vector<CommandEntry>& commands();

}  // namespace yoke
