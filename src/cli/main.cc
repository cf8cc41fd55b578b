// The program `yoke`: finds the command, parses its arguments, runs it, and turns every failure
// into one line and an exit status.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <thread>

#include "base/check.h"
#include "base/registry.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/command.h"
#include "comm/launcher.h"
#include "comm/local_ranks.h"
#include "kernels/threads.h"
#include "tensor/devices.h"
#include "train/job/job.h"

namespace yoke {

namespace {

constexpr const char* kExamples = R"(
Examples:
  yoke train examples/demo.toml                     learn to read drawn digits; no data needed
  yoke train job.toml --set train.epochs=20         change any key of the job
  yoke report runs/demo-*                           draw the runs into one HTML page

`yoke COMMAND --help` explains a command. docs/first-hour.md is a first hour with yoke.
)";

/// The text of `yoke --help`: the commands under the headings of their groups.
std::string Help() {
  std::string text = fmt::format(
      "yoke {}: trains a model on every core of a machine\n\nUsage: yoke COMMAND [ARGUMENTS]\n",
      Version());
  std::string group;
  for (const CommandEntry& entry : Commands()) {
    if (entry.group != group) text += fmt::format("\n{}:\n", group = entry.group);
    text += fmt::format("  {:<12}{}\n", entry.name, entry.summary);
  }
  return text + WithShippedFiles(kExamples);
}

/// The value of an option: after its `=`, or the next word.
std::string ValueOf(const std::string& option, const std::vector<std::string>& words) {
  if (const size_t equals = option.find('='); equals != option.npos)
    return option.substr(equals + 1);
  const auto at = std::find(words.begin(), words.end(), option);
  const bool stands = words.end() - at > 1 && !at[1].starts_with("--");
  return stands ? at[1] : "...";
}

/// If `option` is the name of a job key ("--learning-rate"): how to set that key; otherwise "".
std::string KeyHint(std::string option, const std::string& value) {
  std::replace(option.begin(), option.end(), '-', '_');
  if (option.starts_with("__"))
    if (const std::string other = OtherWordFor(option.substr(2)); !other.empty())
      option = "__" + other;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      if (group.section != "model.layer" && "__" + key.name == option)
        return fmt::format("set this key of the job with --set {}.{}={}", group.section, key.name,
                           value);
  return "";
}

/// Throws UserError for words that are no arguments of the command.
void RefuseUnknown(const Arguments& arguments, const CommandEntry& entry,
                   const std::vector<std::string>& words) {
  const std::vector<std::string> names = arguments.OptionNames();
  const bool has_keys = std::ranges::find(names, "--set") != names.end();
  for (const std::string& word : arguments.Unknown()) {
    const std::string name = word.substr(0, word.find('='));
    const std::string hint = has_keys ? KeyHint(name, ValueOf(word, words)) : "";
    Require(hint.empty(), "unknown option '{}'; {}", name, hint);
    if (name.size() > 1 && name[0] == '-') throw UserError(UnknownName("option", name, names));
    throw UserError(
        fmt::format("unexpected argument '{}'; see `yoke {} --help`", word, entry.name));
  }
}

/// `note`: a line for people, printed first.
int RunCommand(const CommandEntry& entry, const std::vector<std::string>& words,
               const std::string& note = "") {
  bool json = false;
  Arguments arguments("yoke " + entry.name, entry.summary, entry.details);
  const std::unique_ptr<Command> command = entry.make();
  command->Declare(arguments);
  arguments.Flag("--json", &json, "Print JSON lines only, each with an `event`");
  if (!arguments.Parse(words)) {
    if (PrintsForAll()) Output(STDOUT_FILENO, false).Text(arguments.Help());
    return 0;
  }
  RefuseUnknown(arguments, entry, words);
  Output out(STDOUT_FILENO, json);
  if (!note.empty()) out.Text(note);
  return command->Run(out);
}

/// Runs a command that uses no ranks once, on rank 0, as if no launcher had started it.
int RunOnce(const CommandEntry& entry, const std::vector<std::string>& words) {
  const Launch launch = FindLaunch();
  if (launch.rank > 0) return 0;
  LeaveLauncher();
  return RunCommand(entry, words,
                    launch.size == 1 ? ""
                                     : fmt::format("`yoke {}` runs once, on rank 0 of the {}",
                                                   entry.name, launch.size));
}

int Dispatch(const std::vector<std::string>& words) {
  RequireInstructions();
  RequirePages();
  Output out(STDOUT_FILENO, false);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() > 1 && words[0] == "help")
      return RunCommand(FindEntry(Commands(), "command", words[1]), {"--help"});
    if (PrintsForAll()) out.Text(Help());
    return 0;
  }
  const std::string name = words[0] == "--version" ? "version" : words[0];
  const CommandEntry& entry = FindEntry(Commands(), "command", name);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  return entry.together ? RunCommand(entry, rest) : RunOnce(entry, rest);
}

/// Prints an error as one line on standard error.
void Tell(std::string sentence) {
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  std::fprintf(stderr, "yoke: %s\n", OneLine(sentence).c_str());
}

/// One of the launcher's processes prints the error. The others end later, because a launcher ends
/// all processes when one fails.
int Fail(const std::string& sentence, int status, bool tell = PrintsForAll()) {
  constexpr std::chrono::milliseconds kTurn(300);
  if (tell)
    Tell(sentence);
  else
    std::this_thread::sleep_for(kTurn);
  return status;
}

/// The failure of a process that cannot join the others: it prints the error, unless a lower rank
/// that fails too does.
int FailUnjoined(const std::string& sentence, int status) {
  const Launch launch = FindLaunch();
  if (launch.rank == 0) return Fail(sentence, status, /*tell=*/true);
  if (IsFirstToFail(launch)) Tell(fmt::format("rank {}: {}", launch.rank, sentence));
  return status;
}

/// The failure of a process that has not joined the others: all of them learn of it.
int FailAlone(const std::string& sentence, int status) {
  try {
    if (LaunchedByMpi())
      RunMpi({}, [&](const Communicator& /*world*/) { throw Error(sentence, status); });
  } catch (const WorldError& error) {
    return Fail(error.what(), error.exit_status());
  } catch (const Error&) {  // the others cannot be told
  }
  return FailUnjoined(sentence, status);
}

/// Runs `yoke WORDS...`; returns the exit status (docs/command-line.md).
int RunProgram(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write,
  std::signal(SIGXFSZ, SIG_IGN);  // and so is the limit on file sizes
  try {
    return Dispatch(words);
  } catch (const WorldError& error) {
    return Fail(error.what(), error.exit_status(), error.tell() || PrintsForAll());
  } catch (const Error& error) {
    return FailAlone(error.what(), error.exit_status());
  } catch (const std::filesystem::filesystem_error& error) {
    const bool forbidden = error.code() == std::errc::permission_denied;
    return FailAlone(fmt::format("{}: {}", error.path1().string(), error.code().message()),
                     forbidden ? 2 : 1);
  } catch (const std::bad_alloc&) {
    return FailAlone(
        "out of memory; a smaller batch or model needs less (`yoke info JOB` says how much)", 1);
  } catch (const std::exception& error) {
    return FailAlone(fmt::format("{} (this is a bug in yoke; please report it)", error.what()), 1);
  }
}

}  // namespace
}  // namespace yoke

int main(int count, char** words) {
  yoke::BeginProgram(words);
  return yoke::RunProgram({words + 1, words + count});
}
