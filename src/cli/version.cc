// yoke version: prints the version, the commit and the libraries.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/command.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

class VersionCommand : public Command {
 public:
  void Declare(CLI::App&) override {}

  int Run(Output& out) override {
    Json libraries = Json::object();
    out.Text(fmt::format("yoke {} ({})", Version(), Commit()));
    for (const auto& [name, version] : Libraries()) {
      libraries[name] = version;
      out.Text(fmt::format("  {} {}", name, version));
    }
    out.Event("version", {{"version", Version()}, {"commit", Commit()}, {"libraries", libraries}});
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
