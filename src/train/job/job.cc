// Job: sections one by one, each checked against the keys of the parts that it names.
#include "train/job/job.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/json.h"
#include "base/registry.h"
#include "data/reader.h"
#include "model/graph.h"
#include "node/executor.h"
#include "optim/layerwise.h"
#include "optim/schedules.h"
#include "strategy/strategy.h"
#include "tensor/devices.h"
#include "train/early_stopping.h"
#include "train/job/keys.h"
#include "train/start.h"

namespace yoke {
namespace {

const std::vector<std::string> kSections = {"data", "model",   "train",
                                            "node", "cluster", "checkpoint"};

/// A section and what is checked about it.
struct Section {
  const std::string& name;
  Value& value;
  const std::string& folder;  ///< Base of relative paths.
};

/// The entry that `section.key` names (or `fallback`). An error begins with the key's place.
template <typename Entry>
const Entry& Named(const std::vector<Entry>& entries, Section section, const char* key,
                   const char* fallback) {
  const Value* value = section.value.Find(key);
  const std::string where = Where(value ? *value : Value(), section.name + "." + key);
  Require(value || *fallback, "{}",
          Where(section.value, fmt::format("[{}] lacks the key '{}'", section.name, key)));
  Require(!value || value->AsString(), "{}: expected a string in quotes, got {}", where,
          value ? FormatValue(*value) : "");
  try {
    return FindEntry(entries, key, value ? *value->AsString() : fallback);
  } catch (const UserError& unknown) {
    throw UserError(where + ": " + unknown.what());
  }
}

/// Stands for a list's entry where the section names none.
struct Part {
  std::string name;
  std::vector<OptionSpec> options = {};
};

bool Has(const std::vector<OptionSpec>& keys, const std::string& key) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& spec) { return spec.name == key; });
}

/// The parts that have such a key ("rule adam or adamw"), or "". A section of a layer ends in its
/// number.
std::string OwnersOf(const std::string& key, const std::string& section) {
  std::string owners;
  for (const KeyGroup& group : AllKeys())
    if (!group.part.empty() && group.section == section.substr(0, section.find('[')) &&
        Has(group.options, key))
      owners += owners.empty() ? group.part : " or " + group.part.substr(group.part.find(' ') + 1);
  return owners;
}

/// Refuses keys that belong to parts other than the section's own `part`.
void RefuseForeign(const Section& section, const std::vector<OptionSpec>& keys,
                   const std::string& part) {
  for (const auto& [key, value] : *section.value.AsTable()) {
    const std::string owners = Has(keys, key) ? "" : OwnersOf(key, section.name);
    Require(owners.empty(), "{} belongs to {}, and this {} {}",
            Where(value, section.name + "." + key), owners,
            section.name.ends_with(']') ? "layer's type is" : "job uses", part);
  }
}

/// Checks a section against the common keys and those of its part; makes paths absolute.
template <typename Entry>
Options Checked(const Section& section, std::vector<OptionSpec> keys, const Entry& part) {
  keys.insert(keys.end(), part.options.begin(), part.options.end());
  RefuseForeign(section, keys, part.name);
  ResolvePaths(section.value, keys, section.folder);
  return {section.name, section.value, keys};
}

/// A number of epochs, or a table.
void CheckEvaluateEvery(const Section& section, std::vector<OptionSpec>& keys) {
  const Value* every = section.value.Find("evaluate_every");
  if (!every || every->AsInt()) return;
  Require(every->AsTable(), "{}: expected a whole number of epochs, or {{ steps = N }}, got {}",
          Where(*every, "train.evaluate_every"), FormatValue(*every));
  std::ranges::find(keys, "evaluate_every", &OptionSpec::name)->type = OptionType::kTable;
  Options("train.evaluate_every", *every, evaluate_every_keys());
}

/// A word, a list or a table.
void CheckClassWeights(const Section& section, std::vector<OptionSpec>& keys) {
  const Value* weights = section.value.Find("class_weights");
  if (!weights || weights->AsString()) return;
  OptionSpec& key = *std::ranges::find(keys, "class_weights", &OptionSpec::name);
  key.type = weights->AsTable() ? OptionType::kTable : OptionType::kFloats;
  key.choices = {};
  key.minimum = 0;
}

void CheckTarget(const Value& table) {
  const Options target("train.target", table, target_keys());
  Require(target.Has("at_least") != target.Has("at_most"),
          "{}: expected metric with either at_least or at_most", Where(table, "train.target"));
}

void CheckGroups(const Options& train) {
  if (!train.Has("groups")) return;
  const List& groups = *train.Raw("groups").AsList();
  for (size_t i = 0; i < groups.size(); ++i)
    Options(fmt::format("train.groups[{}]", i), groups[i], group_keys());
}

void CheckSchedule(Value table) {
  const Value* name = table.Find("name");
  for (const ScheduleEntry& entry : schedules())
    if (Value(entry.name) == (name ? *name : Value("constant")))
      Checked({"train.schedule", table, ""}, common_schedule_options(), entry);
  MakeSchedule(table);
}

Options CheckTrain(const Section& section, const StrategyEntry& strategy) {
  const RuleEntry& rule = Named(rules(), section, "rule", "momentum");
  std::vector<OptionSpec> keys = train_keys();
  if (strategy.forces_momentum && rule.name == "sgd") {
    const std::vector<OptionSpec>& options = FindEntry(rules(), "rule", "momentum").options;
    keys.push_back(*std::ranges::find(options, "velocity", &OptionSpec::name));
  }
  std::ranges::find(keys, "learning_rate", &OptionSpec::name)->fallback = rule.learning_rate;
  CheckEvaluateEvery(section, keys);
  CheckClassWeights(section, keys);
  Options options = Checked(section, keys, rule);
  rule.make(options);
  if (options.Has("schedule")) CheckSchedule(options.Raw("schedule"));
  if (options.Has("target")) CheckTarget(options.Raw("target"));
  if (options.Has("early_stopping"))
    Options("train.early_stopping", options.Raw("early_stopping"), early_stopping_keys());
  CheckGroups(options);
  if (options.Has("time_limit"))
    ParseDuration(options.String("time_limit"), options.Where("time_limit"));
  return options;
}

Options CheckCluster(const Section& section) {
  const Value* replicas = section.value.Find("replicas");
  const bool several = replicas && replicas->AsInt() && *replicas->AsInt() > 1;
  if (several && !section.value.Find("strategy")) section.value.Set("strategy", "allreduce");
  const StrategyEntry& strategy = Named(strategies(), section, "strategy", "none");
  Options options = Checked(section, cluster_keys(), strategy);
  const std::string reason = strategy.supports(static_cast<int>(options.Int("replicas")));
  Require(reason.empty(), "{}: {}", options.Where("strategy"), reason);
  return options;
}

Value CheckData(const Section& section) {
  const FormatEntry& format = Named(formats(), section, "format", "");
  return Checked(section, common_data_options(), format).Resolved();
}

/// Checks one `[[model.layer]]` table: its type and that type's keys.
void CheckLayer(Value layer, const std::string& name) {
  const LayerEntry& entry = Named(layers(), {name, layer, name}, "type", "");
  for (const char* common : {"type", "name", "inputs"}) layer.Erase(common);
  Checked({name, layer, ""}, {}, entry);
}

/// Checks the options of a model's hashed output layer; its size follows from the data.
void CheckHashedOutput(const Options& model) {
  Value layer = model.Raw("lsh");
  layer.Set("type", "lsh_linear");
  layer.Set("outputs", int64_t{1});
  CheckLayer(std::move(layer), "model.lsh");
}

/// Fills in the model that training starts from, where the section names none.
void TakeModelOfStart(const Section& section) {
  if (!section.value.Find("start")) return;
  ResolvePaths(section.value, model_keys(), section.folder);
  section.value = WithModelOfStart(section.value);
}

/// The keys of a named model or a file, whose own keys are `own`.
std::vector<OptionSpec> ModelKeys(const std::vector<OptionSpec>& own) {
  std::vector<OptionSpec> keys = model_keys();
  if (std::ranges::count(own, "loss", &OptionSpec::name) == 0)
    keys.insert(keys.end(), regression_loss_options().begin(), regression_loss_options().end());
  return keys;
}

template <typename Entry>
Options CheckNamed(const Section& section, const Entry& entry) {
  return Checked(section, ModelKeys(entry.options), entry);
}

/// A hashed output takes the softmax unless the job says otherwise: with sigmoid it learns next to
/// nothing at first.
void TakeSoftmax(Value& model) {
  const Value *name = model.Find("name"), *output = model.Find("output");
  if (!name || !name->AsString() || !output || *output != Value("lsh") || model.Find("loss"))
    return;
  const auto entry = std::ranges::find(models(), *name->AsString(), &ModelEntry::name);
  if (entry != models().end() && Has(entry->options, "loss")) model.Set("loss", "softmax");
}

Value CheckModel(const Section& section) {
  TakeModelOfStart(section);
  TakeSoftmax(section.value);
  const Value *layers = section.value.Find("layer"), *file = section.value.Find("file");
  const Value *name = section.value.Find("name"), *anew = section.value.Find("initialize");
  for (const auto& [first, second] :
       {std::pair("name", "layer"), {"name", "file"}, {"layer", "file"}, {"start", "file"}})
    Require(!section.value.Find(first) || !section.value.Find(second),
            "[model] has both '{}' and '{}': expected one of them", first, second);
  Require(file || !anew, "{}: needs model.file, whose weights it replaces by random ones",
          Where(anew ? *anew : Value(), "model.initialize"));
  const Value* replace = section.value.Find("replace_head");
  Require(!replace || file || section.value.Find("start"),
          "{}: needs model.start (or file), whose output layer it draws anew",
          Where(replace ? *replace : Value(), "model.replace_head"));
  const Value* keep = section.value.Find("keep_classes");
  Require(!keep || (section.value.Find("start") && replace && *replace == Value(true)),
          "{}: needs model.start, a checkpoint, and model.replace_head = true",
          Where(keep ? *keep : Value(), "model.keep_classes"));
  Require(layers || name || file, "{}",
          Where(section.value, "[model] lacks the key 'name', 'file' or 'layer'"));
  if (!layers) {
    const Options options = file ? CheckNamed(section, Part{"a file", file_model_options()})
                                 : CheckNamed(section, Named(models(), section, "name", ""));
    if (section.value.Find("lsh")) CheckHashedOutput(options);
    return options.Resolved();
  }
  const Options options = Checked(section, model_keys(), Part{"layers of its own"});
  const List& list = *options.Raw("layer").AsList();
  Require(!list.empty(), "{}: the list of layers is empty", options.Where("layer"));
  for (size_t i = 0; i < list.size(); ++i) CheckLayer(list[i], fmt::format("model.layer[{}]", i));
  return options.Resolved();
}

void CheckSections(const Value& root) {
  Require(root.AsTable(), "the job is not a table of sections");
  for (const auto& [name, value] : *root.AsTable()) {
    if (std::find(kSections.begin(), kSections.end(), name) == kSections.end())
      throw UserError(Where(value, UnknownName("section", name, kSections)));
    Require(value.AsTable(), "{}: expected a table", Where(value, "[" + name + "]"));
  }
  for (const char* needed : {"data", "model"})
    Require(root.Find(needed), "{}",
            Where(root, fmt::format("the job has no [{}] section", needed)));
}

/// Removes the keys of a part that an override replaces; they do not apply to the new part.
void ForgetPart(Value& root, const Override& given) {
  const auto& [key, text, flag, is_text] = given;
  const size_t dot = key.find('.');
  Value* section = root.Find(key.substr(0, dot));
  const Value* old = section && dot != key.npos ? section->Find(key.substr(dot + 1)) : nullptr;
  if (!old || !old->AsString() || text == *old->AsString() || text == FormatValue(*old)) return;
  const std::string kind = key == "model.name" ? "model" : key.substr(dot + 1);
  const std::string part = kind + " " + *old->AsString();
  for (const KeyGroup& group : AllKeys())
    if (group.section == key.substr(0, dot) && group.part == part)
      for (const OptionSpec& option : group.options) section->Erase(option.name);
  Value* train = root.Find("train");
  const Value* rule = key == "cluster.strategy" && train ? train->Find("rule") : nullptr;
  if (rule && *rule == Value("sgd")) train->Erase("velocity");  // it was the strategy's
}

Value WithOverrides(Value root, const Overrides& overrides) {
  for (const Override& given : overrides) ForgetPart(root, given);
  for (const Override& given : overrides) ApplyOverride(root, given);
  return root;
}

/// Applies the environment variable YOKE_KERNELS to [node].
void AskEnvironment(Value& node) {
  const char* variable = std::getenv("YOKE_KERNELS");
  const std::string kernels = variable ? variable : "";
  Require(kernels.empty() || kernels == "auto" || kernels == "reference",
          "the environment variable YOKE_KERNELS is '{}', expected auto or reference", kernels);
  if (kernels == "reference") node.Set("kernels", kernels);
}

/// The value of section.key; null if there is none.
const Value* FindKey(const Value& root, const std::string& key) {
  const size_t dot = key.find('.');
  const Value* section = root.Find(key.substr(0, dot));
  return section ? section->Find(key.substr(dot + 1)) : nullptr;
}

/// Takes out the keys that are "auto", and returns their names.
std::vector<std::string> TakeOpen(Value& root) {
  std::vector<std::string> open;
  for (const std::string& key : OpenKeys()) {
    const Value* value = FindKey(root, key);
    if (!value || *value != Value("auto")) continue;
    const size_t dot = key.find('.');
    root.Find(key.substr(0, dot))->Erase(key.substr(dot + 1));
    open.push_back(key);
  }
  return open;
}

/// Refuses what does not go with rows stored in bf16.
void CheckWeights(const Job& job) {
  const bool bf16 = job.train.String("weights") == "bf16";
  Require(bf16 || !job.train.Has("rounding"),
          "{} is of weights that are stored in bf16: leave it out or set weights = \"bf16\" too",
          job.train.Where("rounding"));
  if (!bf16) return;
  const std::string& executor = job.node.String("executor");
  const std::string& strategy = job.cluster.String("strategy");
  Require((executor == "single" || executor == "hogwild") && strategy == "none",
          "{} = \"bf16\" is for one replica with executor single or hogwild, not {}",
          job.train.Where("weights"),
          strategy == "none" ? "executor " + executor : "strategy " + strategy);
}

/// Names of the entries that work with rules that look at whole layers.
template <typename Entry>
std::vector<std::string> OfWholeLayers(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries)
    if (entry.whole_layers) names.push_back(entry.name);
  return names;
}

/// Refuses what updates a model in parts under a rule that looks at whole layers.
void CheckRule(const Job& job) {
  const auto rule = FindEntry(rules(), "rule", job.train.String("rule")).make(job.train);
  if (!dynamic_cast<const LayerwiseRule*>(rule.get())) return;
  const std::vector<std::string> fit = OfWholeLayers(strategies());
  const std::vector<std::string> work = OfWholeLayers(executors());
  const std::string& executor = job.node.String("executor");
  const std::string& strategy = job.cluster.String("strategy");
  Require(std::ranges::count(work, executor) > 0 && std::ranges::count(fit, strategy) > 0,
          "{}: {} looks at whole layers, so it needs executor {} and one of the strategies {}; "
          "the job has {} and {}",
          job.train.Where("rule"), rule->name(), fmt::join(work, " or "), fmt::join(fit, ", "),
          executor, strategy);
}

}  // namespace

const std::vector<std::string>& OpenKeys() {
  static const std::vector<std::string> keys = {"node.executor", "node.precision",
                                                "cluster.strategy", "train.learning_rate",
                                                "train.momentum"};
  return keys;
}

Job MakeJob(Value root, const std::string& name, const std::string& folder) {
  CheckSections(root);
  for (const std::string& section : kSections)
    if (!root.Find(section)) root.Set(section, Table{});
  AskEnvironment(*root.Find("node"));
  auto at = [&](int i) { return Section{kSections[i], *root.Find(kSections[i]), folder}; };
  Job job;
  job.name = name;
  job.open = TakeOpen(root);
  root.Set("data", CheckData(at(0)));
  root.Set("model", CheckModel(at(1)));
  const StrategyEntry& strategy = Named(strategies(), at(4), "strategy", "none");
  root.Set("train", (job.train = CheckTrain(at(2), strategy)).Resolved());
  for (const std::string& key : job.open)  // of a rule, say, that the job does not have
    Require(!key.starts_with("train.") || FindKey(root, key),
            "{} = \"auto\": rule {} has no such key", key, job.train.String("rule"));
  const ExecutorEntry& executor = Named(executors(), at(3), "executor", "single");
  root.Set("node", (job.node = Checked(at(3), node_keys(), executor)).Resolved());
  root.Set("cluster", (job.cluster = CheckCluster(at(4))).Resolved());
  CheckWeights(job);
  CheckRule(job);
  root.Set("checkpoint", (job.checkpoint = Checked(at(5), checkpoint_keys(), Part{})).Resolved());
  BestMetric(root);  // is one
  RequireText(root, "");
  job.resolved = std::move(root);
  return job;
}

Job LoadJob(const std::string& path, const Overrides& overrides,
            const std::vector<std::string>& open) {
  Require(!path.ends_with(".onnx"),
          "{} is a network, not a job: name it in the [model] of a job file, file = \"{}\" (`yoke "
          "info {}` shows it)",
          path, path, path);
  const std::filesystem::path file = std::filesystem::absolute(path);
  Overrides keys = overrides;
  std::ranges::copy(AskedKeys(), std::back_inserter(keys));
  return JobOfTable(ReadToml(path), {.name = file.stem(), .folder = file.parent_path()}, keys,
                    open);
}

Job JobOfTable(Value root, const TableOrigin& origin, const Overrides& overrides,
               const std::vector<std::string>& open) {
  root = WithOverrides(std::move(root), overrides);
  AddTableDefaults(root);
  Job job = MakeJob(root, origin.name, origin.folder);
  job.resolved.Set("data", WithNormalizationOfStart(job.model(), job.data()));
  for (const std::string& key : open)
    if (!FindKey(root, key) && FindKey(job.resolved, key)) job.open.push_back(key);
  return job;
}

Overrides AskedKeys() {
  const std::vector<std::string> devices = AskedDevices();
  if (devices.empty()) return {};
  return {{.key = "node.devices", .value = FormatValue(ListOf(devices)), .flag = "YOKE_DEVICES"}};
}

std::vector<std::string> InputsOf(const Job& job, const std::string& path) {
  std::vector<std::string> inputs = {path};
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options) {
      if (key.type != OptionType::kPath && key.type != OptionType::kPaths) continue;
      const Value* section = job.resolved.Find(group.section);
      const Value* value = section ? section->Find(key.name) : nullptr;
      if (!value) continue;
      if (value->AsString()) inputs.push_back(*value->AsString());
      if (const List* list = value->AsList())
        for (const Value& item : *list) inputs.push_back(*item.AsString());
    }
  return inputs;
}

Job MakeResolvedJob(Value root, const Overrides& overrides) {
  return MakeJob(WithOverrides(std::move(root), overrides), "job", "");
}

Job WithKeys(const Job& job, const Overrides& overrides) {
  Job changed = MakeResolvedJob(job.resolved, overrides);
  changed.name = job.name;
  return changed;
}

bool Job::ReferenceKernels() const { return node.String("kernels") == "reference"; }

ThreadPlan Job::Plan(const LocalRank& inside) const {
  return PlanThreads({.threads = node.Has("threads") ? static_cast<int>(node.Int("threads")) : 0,
                      .pin = node.Bool("pin"),
                      .inside = inside});
}

}  // namespace yoke
