// Lists: the tables of all parts, each item with a sentence.
#include "api/lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/registry.h"
#include "data/reader.h"
#include "kernels/makers.h"
#include "lsh/family.h"
#include "lsh/sampler.h"
#include "model/graph.h"
#include "model/layers/activations.h"
#include "node/executor.h"
#include "optim/rule.h"
#include "optim/schedules.h"
#include "params/store.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/job/job.h"

namespace yoke {
namespace {

/// The option `form` of an entry, or one without choices.
template <typename Entry>
OptionSpec FormOf(const Entry& entry) {
  if constexpr (requires { entry.options; })
    for (const OptionSpec& option : entry.options)
      if (option.name == "form") return option;
  return {};
}

/// The items of a list whose entries have a name and a summary.
template <typename Entry>
std::function<std::vector<ListedItem>()> ItemsOf(const std::vector<Entry>& (*list)()) {
  return [list] {
    std::vector<ListedItem> items;
    for (const Entry& entry : list()) items.push_back({entry.name, entry.summary, FormOf(entry)});
    return items;
  };
}

std::vector<ListedItem> MetricItems() {
  return {{"loss", "mean loss over the examples; less is better"},
          {"accuracy", "fraction of examples whose class has the highest score"},
          {"p_at_1", "precision at 1: fraction of examples whose first predicted label is right"},
          {"p_at_3", "precision at 3: fraction of the first three predicted labels that are right"},
          {"p_at_5", "precision at 5: fraction of the first five predicted labels that are right"},
          {"auc", "area under the ROC curve, for data of two classes"},
          {"rmse",
           "of a regression: root of the mean squared error, in the target's unit; less is "
           "better"},
          {"mae", "of a regression: mean absolute error, in the target's unit; less is better"},
          {"r2",
           "of a regression: 1 - squared error / variance of the target, the mean over "
           "targets"}};
}

std::vector<ListedItem> KeyItems() {
  std::vector<ListedItem> items;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      items.push_back({group.section + "." + key.name,
                       (group.part.empty() ? "" : "(" + group.part + ") ") + key.help});
  return items;
}

/// An operation and the names of its kernels by kind of device.
struct OperationKernels {
  std::string name;
  Forms forms;
  std::vector<std::pair<std::string, std::vector<std::string>>> kernels = {};
};

/// For example: forward, backward; f32, bf16; relu, sigmoid, tanh; cpu: vector loops, reference.
std::string SummaryOf(const OperationKernels& operation) {
  const Forms& forms = operation.forms;
  std::string text = forms.backward ? "forward, backward; " : "forward; ";
  text += forms.bf16 ? "f32, bf16" : "f32";
  if (*forms.others) text += fmt::format("; {}", forms.others);
  for (const auto& [kind, kernels] : operation.kernels)
    text += fmt::format("; {}: {}", kind,
                        kernels.empty() ? "none" : fmt::format("{}", fmt::join(kernels, ", ")));
  return text;
}

ListedItem ItemOf(const OperationKernels& operation) {
  Table by_kind;
  for (const auto& [kind, kernels] : operation.kernels) by_kind.emplace_back(kind, ListOf(kernels));
  return {.name = operation.name,
          .summary = SummaryOf(operation),
          .details = {{"backward", operation.forms.backward},
                      {"bf16", operation.forms.bf16},
                      {"forms", std::string(operation.forms.others)},
                      {"kernels", by_kind}}};
}

std::vector<std::string> KernelsOfRule(const RuleEntry& entry, Device& device) {
  const auto rule = entry.make(Options("train", Table{}, entry.options));
  try {
    return {rule->MakeKernel({.device = &device, .stream = &device.stream()})->name()};
  } catch (const Error&) {
    return {};
  }
}

/// What a device must compute to train and evaluate models, and the kernels of those kinds of
/// devices that this machine has.
std::vector<ListedItem> KernelItems() {
  std::vector<OperationKernels> all;
  std::vector<const OperationEntry*> entries = operations();
  const auto activations = layer::ActivationOperations();
  entries.insert(entries.end(), activations.begin(), activations.end());
  entries.push_back(&UpdateStartOperation());
  all.reserve(entries.size() + rules().size());
  for (const OperationEntry* entry : entries) all.push_back({entry->name(), entry->forms()});
  for (const RuleEntry& rule : rules())
    all.push_back({rule.name, {.backward = false, .bf16 = false, .others = "update rule"}});
  for (const DeviceEntry& kind : device_kinds()) {
    const std::vector<int> usable = kind.usable();
    if (usable.empty()) continue;
    const auto device = kind.make(usable.front(), {});
    for (size_t i = 0; i < all.size(); ++i)
      all[i].kernels.emplace_back(
          kind.name, i < entries.size() ? entries[i]->KernelsOn(*device)
                                        : KernelsOfRule(rules()[i - entries.size()], *device));
  }
  std::vector<ListedItem> items;
  items.reserve(all.size());
  for (const OperationKernels& operation : all) items.push_back(ItemOf(operation));
  return items;
}

std::vector<ListedItem> KindItems() {
  std::vector<ListedItem> items;
  for (const ListedKind& kind : ListedKinds()) items.push_back({kind.name, kind.summary});
  return items;
}

}  // namespace

const std::vector<ListedKind>& ListedKinds() {
  static const std::vector<ListedKind> kinds = {
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
      {"kernels", "operations, and the kernels of each kind of device for them", KernelItems},
      {"metrics", "results of evaluation", MetricItems},
      {"keys", "every key of a job file", KeyItems},
      {"kinds", "arguments of `yoke list`", KindItems}};
  return kinds;
}

Table ToTable(const ListedItem& item) {
  if (item.form.choices.empty()) {
    Table entry = {{"name", item.name}, {"summary", item.summary}};
    entry.insert(entry.end(), item.details.begin(), item.details.end());
    return entry;
  }
  return {{"name", item.name},
          {"summary", item.summary},
          {"forms", List(item.form.choices.begin(), item.form.choices.end())},
          {"default_form", item.form.fallback},
          {"form_help", item.form.help}};
}

}  // namespace yoke
