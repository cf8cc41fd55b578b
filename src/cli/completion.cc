// yoke completion: a script that completes commands, options and job keys in a shell, from the
// tables that the program itself reads.
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/options.h"
#include "cli/command.h"
#include "train/job/job.h"

namespace yoke {
namespace {

std::vector<std::string> OptionsOf(const CommandEntry& entry) {
  Arguments arguments("yoke " + entry.name, entry.summary, entry.details);
  entry.make()->Declare(arguments);
  std::vector<std::string> options = arguments.OptionNames();
  options.emplace_back("--json");
  return options;
}

/// `train.epochs=`, ...
std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      if (group.section != "model.layer")
        keys.push_back(fmt::format("{}.{}=", group.section, key.name));
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string Bash() {
  std::vector<std::string> names;
  std::string cases;
  for (const CommandEntry& entry : Commands()) {
    names.push_back(entry.name);
    cases += fmt::format("    {}) options='{}' ;;\n", entry.name, fmt::join(OptionsOf(entry), " "));
  }
  return fmt::format(
      R"(_yoke() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [ "${{COMP_WORDS[COMP_CWORD-1]}}" = --set ]; then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    type compopt >/dev/null 2>&1 && compopt -o nospace
  elif [ "${{word#-}}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
    type compopt >/dev/null 2>&1 && compopt -o filenames
  fi
}}
complete -F _yoke yoke
)",
      fmt::join(names, " "), cases, fmt::join(Keys(), " "));
}

std::string Zsh() { return "autoload -U +X bashcompinit && bashcompinit\n" + Bash(); }

std::string Quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != text.npos; at += 2) text.insert(at, "\\");
  return "'" + text + "'";
}

std::string Fish() {
  std::string text;
  for (const CommandEntry& entry : Commands()) {
    text += fmt::format("complete -c yoke -n __fish_use_subcommand -a {} -d {}\n", entry.name,
                        Quoted(entry.summary));
    for (const std::string& option : OptionsOf(entry))
      text += fmt::format("complete -c yoke -n '__fish_seen_subcommand_from {}' -l {}\n",
                          entry.name, option.substr(2));
  }
  return text + fmt::format("complete -c yoke -n '__fish_seen_argument -l set' -x -a '{}'\n",
                            fmt::join(Keys(), " "));
}

class CompletionCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("SHELL", &shell_, "bash, zsh or fish (default: bash)");
  }

  int Run(Output& out) override {
    const std::vector<std::string> shells = {"bash", "zsh", "fish"};
    if (std::ranges::count(shells, shell_) == 0)
      throw UserError(UnknownName("shell", shell_, shells));
    const std::string script = shell_ == "bash" ? Bash() : shell_ == "zsh" ? Zsh() : Fish();
    out.Text(script);
    out.Event("completion", {{"shell", shell_}, {"script", script}});
    return 0;
  }

 private:
  std::string shell_ = "bash";
};

}  // namespace

CommandEntry completion_command() {
  return {"completion", "Look into things", "Print a script that completes words in a shell",
          R"(Examples:
  source <(yoke completion bash)                    in ~/.bashrc; zsh likewise
  yoke completion fish > ~/.config/fish/completions/yoke.fish)",
          [] { return std::unique_ptr<Command>(new CompletionCommand); }};
}

}  // namespace yoke
