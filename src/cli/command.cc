// Command: CLI11 parses the arguments; messages about words that nobody declared are the program's.
#include "cli/command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/check.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// A file of the clone, and its place below the prefix after `make install`.
struct ShippedFile {
  const char* name;
  const char* installed;
};

constexpr ShippedFile kFiles[] = {
    {"examples/demo.toml", "share/yoke/examples/demo.toml"},
    {"docs/first-hour.md", "share/doc/yoke/first-hour.md"},
};

std::string Find(const ShippedFile& file) {
  std::error_code none;
  if (fs::exists(file.name, none)) return file.name;
  const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& path :
       {folder.parent_path() / file.installed, folder.parent_path().parent_path() / file.name})
    if (fs::exists(path, none)) return path;
  return file.name;
}

template <typename T>
CLI::Option* Add(CLI::App& app, const std::string& name, T* variable, const std::string& help) {
  return app.add_option(name, *variable, help);
}

template <typename T>
CLI::Option* Add(CLI::App& app, const std::string& name, const std::function<void(const T&)>& take,
                 const std::string& help) {
  return app.add_option_function<T>(name, take, help);
}

}  // namespace

void DeclaredOption::Within(int64_t least, int64_t most) const {
  option_->check(CLI::Range(least, most));
}

void DeclaredOption::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
}

void DeclaredOption::Check(
    const std::function<std::string(const std::string& value)>& refusal) const {
  option_->check(refusal);
}

void DeclaredOption::Commas() const { option_->delimiter(','); }

void DeclaredOption::OneEach() const {
  option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Arguments::Arguments(const std::string& command, const std::string& summary,
                     const std::string& details)
    : app_(std::make_unique<CLI::App>(summary, command)) {
  app_->allow_extras();
  app_->get_formatter()->column_width(28);
  app_->footer("\n" + WithShippedFiles(details));
}

Arguments::~Arguments() = default;

void Arguments::Place(const std::string& name, const ValueTarget& target, const std::string& help) {
  const bool list = std::holds_alternative<std::vector<std::string>*>(target);
  Option(name, list ? "..." : " ", target, help);
}

DeclaredOption Arguments::Option(const std::string& name, const std::string& value,
                                 const ValueTarget& target, const std::string& help) {
  CLI::Option* option =
      std::visit([&](const auto& to) { return Add(*app_, name, to, help); }, target);
  return DeclaredOption(option->option_text(value));
}

void Arguments::Flag(const std::string& name, bool* target, const std::string& help) {
  app_->add_flag(name, *target, help);
}

bool Arguments::Parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // the order that CLI11 expects
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    throw UserError(fmt::format("{} (see `{} --help`)", error.what(), app_->get_name()));
  }
  return true;
}

std::string Arguments::Help() const { return app_->help(); }

std::vector<std::string> Arguments::Unknown() const { return app_->remaining(); }

std::vector<std::string> Arguments::OptionNames() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string WithShippedFiles(std::string text) {
  for (const ShippedFile& file : kFiles) {
    const std::string name = file.name, path = Find(file);
    for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += path.size())
      text.replace(at, name.size(), path);
  }
  return text;
}

}  // namespace yoke
