// yoke version: prints the version, the commit and the libraries.
#include <fmt/core.h>

#include "base/version.h"
#include "cli/command.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

class VersionCommand : public Command {
 public:
  void Declare(Arguments&) override {}

  int Run(Output& out) override {
    out.Text(fmt::format("yoke {} ({})", Version(), Commit()));
    for (const auto& [name, version] : Libraries()) out.Text(fmt::format("  {} {}", name, version));
    out.Event("version", {{"version", std::string(Version())},
                          {"commit", std::string(Commit())},
                          {"libraries", TableOf(Libraries())}});
    return 0;
  }
};

}  // namespace

CommandEntry version_command() {
  return {"version", "Look into things", "Print version, commit and libraries",
          "Example:\n  yoke version --json           the same for a program",
          [] { return std::unique_ptr<Command>(new VersionCommand); }};
}

}  // namespace yoke
