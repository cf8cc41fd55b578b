// Job: sections one by one, each checked against the keys of the parts that it names.
#include "train/job.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/parallel.h"
#include "base/registry.h"
#include "data/reader.h"
#include "model/graph.h"
#include "node/executor.h"
#include "optim/rule.h"
#include "optim/schedule.h"
#include "strategy/strategy.h"
#include "train/job_keys.h"
#include "train/job_values.h"

namespace yoke {
namespace {

const std::vector<std::string> kSections = {"data", "model",   "train",
                                            "node", "cluster", "checkpoint"};

/// A section under examination.
struct Section {
  const std::string& name;
  Value& value;
  const std::string& folder;  ///< What relative paths are relative to.
};

std::string Where(const Value& value, const std::string& key) {
  return value.place().empty() ? key : value.place() + ": " + key;
}

/// The entry that `section.key` names (or `fallback`), its mistake told with its place.
template <typename Entry>
const Entry& Named(const std::vector<Entry>& entries, const Section& section,
                   const std::string& key, const std::string& fallback) {
  const Value* value = section.value.Find(key);
  const std::string where = Where(value ? *value : Value(), section.name + "." + key);
  Require(value || !fallback.empty(), "[{}] lacks the key '{}'", section.name, key);
  Require(!value || value->AsString(), "{}: expected a text in quotes, got {}", where,
          value ? FormatValue(*value) : "");
  try {
    return FindEntry(entries, key, value ? *value->AsString() : fallback);
  } catch (const UserError& unknown) {
    throw UserError(where + ": " + unknown.what());
  }
}

/// Checks a section against common keys and those of its part; paths become absolute.
Options Checked(const Section& section, std::vector<OptionSpec> keys,
                const std::vector<OptionSpec>& of_part) {
  keys.insert(keys.end(), of_part.begin(), of_part.end());
  ResolvePaths(section.value, keys, section.folder);
  return {section.name, section.value, keys};
}

void CheckTarget(const Value& table) {
  const Options target("train.target", table, target_keys());
  Require(target.Has("at_least") != target.Has("at_most"),
          "{}: expected either at_least or at_most beside metric", Where(table, "train.target"));
}

Options CheckTrain(const Section& section) {
  const RuleEntry& rule = Named(rules(), section, "rule", "momentum");
  Options options = Checked(section, train_keys(), rule.options);
  rule.make(options);
  if (options.Has("schedule")) MakeSchedule(options.Raw("schedule"));
  if (options.Has("target")) CheckTarget(options.Raw("target"));
  if (options.Has("time_limit"))
    ParseDuration(options.String("time_limit"), options.Where("time_limit"));
  return options;
}

Options CheckCluster(const Section& section) {
  const StrategyEntry& strategy = Named(strategies(), section, "strategy", "none");
  Options options = Checked(section, cluster_keys(), strategy.options);
  const std::string reason = strategy.supports(static_cast<int>(options.Int("replicas")));
  Require(reason.empty(), "{}: {}", options.Where("replicas"), reason);
  return options;
}

Value CheckData(const Section& section) {
  const FormatEntry& format = Named(formats(), section, "format", "");
  return Checked(section, common_data_options(), format.options).Resolved();
}

/// One `[[model.layer]]` table: its type is known and its keys are that type's.
void CheckLayer(Value layer, const std::string& name) {
  const LayerEntry& entry = Named(layers(), {name, layer, name}, "type", "");
  for (const char* common : {"type", "name"}) layer.Erase(common);
  Options(name, layer, entry.options);
}

Value CheckModel(const Section& section) {
  if (const Value* file = section.value.Find("file"))
    throw UserError(Where(*file, "model.file") +
                    ": this version reads no ONNX files; name a model or list its layers");
  const Value* layers = section.value.Find("layer");
  Require(!layers || !section.value.Find("name"),
          "[model] has both 'name' and 'layer': expected one of them");
  if (!layers)
    return Checked(section, model_keys(), Named(models(), section, "name", "").options).Resolved();
  const Options options = Checked(section, model_keys(), {});
  const List& list = *options.Raw("layer").AsList();
  Require(!list.empty(), "{}: the list of layers is empty", options.Where("layer"));
  for (size_t i = 0; i < list.size(); ++i) CheckLayer(list[i], fmt::format("model.layer[{}]", i));
  return options.Resolved();
}

void CheckSections(const Value& root) {
  for (const auto& [name, value] : *root.AsTable()) {
    if (std::find(kSections.begin(), kSections.end(), name) == kSections.end())
      throw UserError(Where(value, UnknownName("section", name, kSections)));
    Require(value.AsTable(), "{}: expected a table", Where(value, "[" + name + "]"));
  }
  for (const char* needed : {"data", "model"})
    Require(root.Find(needed), "the job has no [{}] section", needed);
}

/// Before another part is named by an override, the old one's keys go: they are not the new one's.
void ForgetPart(Value& root, const std::string& key, const std::string& text) {
  const size_t dot = key.find('.');
  Value* section = root.Find(key.substr(0, dot));
  const Value* old = section && dot != key.npos ? section->Find(key.substr(dot + 1)) : nullptr;
  if (!old || !old->AsString() || text == *old->AsString() || text == FormatValue(*old)) return;
  const std::string kind = key == "model.name" ? "model" : key.substr(dot + 1);
  const std::string part = kind + " " + *old->AsString();
  for (const KeyGroup& group : AllKeys())
    if (group.section == key.substr(0, dot) && group.part == part)
      for (const OptionSpec& option : group.options) section->Erase(option.name);
}

Value ReadWithOverrides(const std::string& path, const Overrides& overrides) {
  Value root = ReadToml(path);
  for (const auto& [key, value] : overrides) ForgetPart(root, key, value);
  for (const auto& [key, value] : overrides) ApplyOverride(root, key, value);
  return root;
}

/// Lets the environment's YOKE_KERNELS have its say in [node] kernels.
void AskEnvironment(Value& node) {
  const char* variable = std::getenv("YOKE_KERNELS");
  const std::string kernels = variable ? variable : "";
  Require(kernels.empty() || kernels == "auto" || kernels == "reference",
          "the environment variable YOKE_KERNELS is '{}', expected auto or reference", kernels);
  if (kernels == "reference") node.Set("kernels", kernels);
}

}  // namespace

Job MakeJob(Value root, const std::string& name, const std::string& folder) {
  CheckSections(root);
  for (const std::string& section : kSections)
    if (!root.Find(section)) root.Set(section, Table{});
  AskEnvironment(*root.Find("node"));
  auto at = [&](int i) { return Section{kSections[i], *root.Find(kSections[i]), folder}; };
  Job job;
  job.name = name;
  root.Set("data", CheckData(at(0)));
  root.Set("model", CheckModel(at(1)));
  root.Set("train", (job.train = CheckTrain(at(2))).Resolved());
  root.Set("node", (job.node = Checked(at(3), node_keys(),
                                       Named(executors(), at(3), "executor", "single").options))
                       .Resolved());
  root.Set("cluster", (job.cluster = CheckCluster(at(4))).Resolved());
  root.Set("checkpoint", (job.checkpoint = Checked(at(5), checkpoint_keys(), {})).Resolved());
  job.resolved = std::move(root);
  return job;
}

Job LoadJob(const std::string& path, const Overrides& overrides) {
  const std::filesystem::path file = std::filesystem::absolute(path);
  return MakeJob(ReadWithOverrides(path, overrides), file.stem(), file.parent_path());
}

Job LoadResolvedJob(const std::string& path, const Overrides& overrides) {
  return MakeJob(ReadWithOverrides(path, overrides), "job", "");
}

bool Job::ReferenceKernels() const { return node.String("kernels") == "reference"; }

int Job::Threads() const {
  return node.Has("threads") ? static_cast<int>(node.Int("threads")) : UsableCores();
}

}  // namespace yoke
