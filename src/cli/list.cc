// yoke list: prints the parts that a job can name, and every key that it can set.
#include <fmt/format.h>

#include "api/lists.h"
#include "base/registry.h"
#include "cli/command.h"
#include "train/job/job.h"

namespace yoke {
namespace {

/// For example: forms: paper, yoke (default).
std::string FormsOf(const OptionSpec& form) {
  std::string text = "forms:";
  for (const std::string& choice : form.choices)
    text += (text.back() == ':' ? " " : ", ") + choice +
            (choice == *form.fallback.AsString() ? " (default)" : "");
  return text;
}

size_t WidthFor(const Output& out) { return static_cast<size_t>(std::max(out.Columns() - 1, 60)); }

/// Prints one part: summary, forms and what differs between them.
void PrintOne(const ListedItem& item, Output& out) {
  const auto print = [&](const std::string& text) {
    for (const std::string& line : Wrap(text, WidthFor(out), 0)) out.Text(line);
  };
  print(item.name + ": " + item.summary);
  if (item.form.choices.empty()) return;
  print(FormsOf(item.form));
  print(item.form.help);
}

/// Prints name and summary in two columns, the second wrapped to the width of the terminal.
void Print(const std::vector<ListedItem>& items, Output& out) {
  size_t width = 0;
  for (const ListedItem& item : items) width = std::max(width, item.name.size() + 2);
  const size_t columns = WidthFor(out) - width;
  for (const ListedItem& item : items) {
    std::string name = item.name + std::string(width - item.name.size(), ' ');
    std::vector<std::string> lines = Wrap(item.summary, columns, 0);
    if (!item.form.choices.empty()) lines.push_back(FormsOf(item.form));
    for (const std::string& line : lines) {
      out.Text(name + line);
      name = std::string(width, ' ');
    }
  }
}

class ListCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("KIND", &kind_,
                    "layers, models, formats, rules, ...; without it, the kinds there are");
    arguments.Place("NAME", &name_,
                    "One of them: what differs between its forms, if it has several");
    arguments.Flag("--markdown", &markdown_, "With `keys`: a page of Markdown");
  }

  int Run(Output& out) override {
    const ListedKind& kind = FindEntry(ListedKinds(), "kind", kind_);
    Require(!markdown_ || (kind_ == "keys" && name_.empty()), "--markdown needs `yoke list keys`");
    std::vector<ListedItem> items = kind.items();
    if (!name_.empty()) items = {FindEntry(items, "name in " + kind_, name_)};
    List entries;
    for (const ListedItem& item : items) entries.push_back(ToTable(item));
    out.Event("list", {{"kind", kind_}, {"entries", entries}});
    if (!name_.empty()) {
      PrintOne(items.front(), out);
    } else if (markdown_) {
      const std::string page = KeysPage();
      out.Text(page.substr(0, page.find_last_not_of('\n') + 1));
    } else {
      Print(items, out);
    }
    return 0;
  }

 private:
  std::string kind_ = "kinds";
  std::string name_;
  bool markdown_ = false;
};

constexpr const char* kListDetails = R"(Examples:
  yoke list                     the kinds there are
  yoke list layers              layers, each with a sentence
  yoke list strategies async_sgd
                                one of them: its forms, and what differs
  yoke list keys                every key of a job file, with its meaning)";

}  // namespace

CommandEntry list_command() {
  return {"list", "Look into things", "List layers, models, formats, rules, job keys, ...",
          kListDetails, [] { return std::unique_ptr<Command>(new ListCommand); }};
}

}  // namespace yoke
