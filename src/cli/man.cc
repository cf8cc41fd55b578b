// yoke man: the manual page of a command, or of the keys of job files, from the tables that the
// program itself reads.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/options.h"
#include "base/version.h"
#include "cli/command.h"
#include "train/job/job.h"

namespace yoke {
namespace {

/// A text of several lines as troff shows it: backslashes, and dots and quotes at a line's begin,
/// are its own.
std::string InTroff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins = escaped.empty() || escaped.back() == '\n';
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return escaped;
}

std::string Title(std::string name, int section) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} {} \"\" \"yoke {}\"\n", name, section, Version());
}

std::string PageOf(const CommandEntry& entry) {
  Arguments arguments("yoke " + entry.name, entry.summary, entry.details);
  entry.make()->Declare(arguments);
  return fmt::format("{}.SH NAME\nyoke\\-{} \\- {}\n.SH DESCRIPTION\n.nf\n{}\n.fi\n",
                     Title("yoke-" + entry.name, 1), entry.name, InTroff(entry.summary),
                     InTroff(arguments.Help()));
}

std::string PageOfCommands() {
  std::string text = Title("yoke", 1) +
                     ".SH NAME\nyoke \\- train one model on every device you have\n"
                     ".SH COMMANDS\n";
  for (const CommandEntry& entry : Commands())
    text += fmt::format(".TP\n.BR yoke\\-{} (1)\n{}\n", entry.name, InTroff(entry.summary));
  return text + ".SH SEE ALSO\n.BR yoke\\-keys (5)\n";
}

std::string PageOfKeys() {
  std::string text =
      Title("yoke-keys", 5) + ".SH NAME\nyoke\\-keys \\- the keys of a job file of yoke\n";
  for (const KeyGroup& group : AllKeys()) {
    text += fmt::format(".SH [{}]{}\n", group.section,
                        group.part.empty() ? "" : " of " + InTroff(group.part));
    for (const OptionSpec& key : group.options)
      text += fmt::format(".TP\n.B {}\n{}\n", InTroff(key.name), InTroff(key.help));
  }
  return text;
}

class ManCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("COMMAND", &command_, "A command, or keys (default: the list of commands)");
  }

  int Run(Output& out) override {
    const std::string page = command_.empty()     ? PageOfCommands()
                             : command_ == "keys" ? PageOfKeys()
                                                  : PageOf(Find());
    out.Text(page);
    out.Event("man", {{"page", page}});
    return 0;
  }

 private:
  const CommandEntry& Find() const {
    std::vector<std::string> names = {"keys"};
    for (const CommandEntry& entry : Commands()) {
      if (entry.name == command_) return entry;
      names.push_back(entry.name);
    }
    throw UserError(UnknownName("command", command_, names));
  }

  std::string command_;
};

}  // namespace

CommandEntry man_command() {
  return {"man", "Look into things", "Print the manual page of a command",
          R"(Examples:
  yoke man train | man -l -
  yoke man keys > ~/.local/share/man/man5/yoke-keys.5)",
          [] { return std::unique_ptr<Command>(new ManCommand); }};
}

}  // namespace yoke
