// yoke list: prints the parts that a job can name, and every key that it can set.
#include <functional>

#include "base/registry.h"
#include "cli/command.h"
#include "data/reader.h"
#include "lsh/family.h"
#include "lsh/sampler.h"
#include "model/graph.h"
#include "node/executor.h"
#include "optim/rule.h"
#include "optim/schedules.h"
#include "params/store.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/job/job.h"

namespace yoke {
namespace {

struct Item {
  std::string name;
  std::string summary;
};

/// A kind of list.
struct Kind {
  std::string name;
  std::string summary;
  std::function<std::vector<Item>()> items;
};

/// The items of a list whose entries have a name and a summary.
template <typename Entry>
std::function<std::vector<Item>()> ItemsOf(const std::vector<Entry>& (*list)()) {
  return [list] {
    std::vector<Item> items;
    for (const Entry& entry : list()) items.push_back({entry.name, entry.summary});
    return items;
  };
}

std::vector<Item> MetricItems() {
  return {{"loss", "mean loss over the examples; less is better"},
          {"accuracy", "fraction of examples whose class has the highest score"},
          {"p_at_1", "precision at 1: fraction of examples whose first predicted label is right"},
          {"p_at_3", "precision at 3: fraction of the first three predicted labels that are right"},
          {"p_at_5", "precision at 5: fraction of the first five predicted labels that are right"},
          {"auc", "area under the ROC curve, for data of two classes"}};
}

std::vector<Item> KeyItems() {
  std::vector<Item> items;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      items.push_back({group.section + "." + key.name,
                       (group.part.empty() ? "" : "(" + group.part + ") ") + key.help});
  return items;
}

std::vector<Item> KindItems();

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"layers", "types of [[model.layer]] tables", ItemsOf(layers)},
      {"models", "the zoo: names for [model]", ItemsOf(models)},
      {"formats", "data formats: names for [data]", ItemsOf(formats)},
      {"rules", "update rules: names for train.rule", ItemsOf(rules)},
      {"schedules", "learning rates over time: names for train.schedule", ItemsOf(schedules)},
      {"initializers", "how initial weights are drawn", ItemsOf(initializers)},
      {"devices", "kinds of devices: names for node.devices", ItemsOf(device_kinds)},
      {"executors", "how a node's devices work on one replica: names for node.executor",
       ItemsOf(executors)},
      {"strategies", "values of cluster.strategy", ItemsOf(strategies)},
      {"families", "hash families of hashed layers", ItemsOf(hash_families)},
      {"samplers", "how hashed layers choose their active rows", ItemsOf(samplers)},
      {"metrics", "results of evaluation", MetricItems},
      {"keys", "every key of a job file", KeyItems},
      {"kinds", "arguments of `yoke list`", KindItems}};
  return kinds;
}

std::vector<Item> KindItems() {
  std::vector<Item> items;
  for (const Kind& kind : Kinds()) items.push_back({kind.name, kind.summary});
  return items;
}

/// Prints name and summary in two columns, the second wrapped to the width of the terminal.
void Print(const std::vector<Item>& items, Output& out) {
  size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size() + 2);
  const auto columns = static_cast<size_t>(std::max(out.Columns() - 1, 60));
  for (const Item& item : items) {
    std::string name = item.name + std::string(width - item.name.size(), ' ');
    for (const std::string& line : Wrap(item.summary, columns - width, 0)) {
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
    arguments.Flag("--markdown", &markdown_, "With `keys`: the page docs/job-keys.md");
  }

  int Run(Output& out) override {
    const Kind& kind = FindEntry(Kinds(), "kind", kind_);
    Require(!markdown_ || kind_ == "keys", "--markdown needs `yoke list keys`");
    const std::vector<Item> items = kind.items();
    List entries;
    for (const Item& item : items)
      entries.push_back(Table{{"name", item.name}, {"summary", item.summary}});
    out.Event("list", {{"kind", kind_}, {"entries", entries}});
    if (markdown_) {
      const std::string page = KeysPage();
      out.Text(page.substr(0, page.find_last_not_of('\n') + 1));
    } else {
      Print(items, out);
    }
    return 0;
  }

 private:
  std::string kind_ = "kinds";
  bool markdown_ = false;
};

constexpr const char* kListDetails = R"(Examples:
  yoke list                     the kinds there are
  yoke list layers              layers, each with a sentence
  yoke list keys                every key of a job file, with its meaning)";

}  // namespace

CommandEntry list_command() {
  return {"list", "Look into things", "List layers, models, formats, rules, job keys, ...",
          kListDetails, [] { return std::unique_ptr<Command>(new ListCommand); }};
}

}  // namespace yoke
