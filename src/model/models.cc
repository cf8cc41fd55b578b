// The lists of layers and of the zoo's models: each .def file once as declarations, once as the
// table; and the graph for a job's [model].
#include <algorithm>

#include "base/json.h"
#include "base/registry.h"
#include "model/add_layer.h"
#include "model/convolution_keys.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/layer_namer.h"
#include "model/onnx/onnx.h"
#include "model/output_layers.h"
#include "model/zoo/tables.h"

namespace yoke {
namespace {

List FromLayers(const Value& section, const Value& tables) {
  const Options options("model", section,
                        std::vector<OptionSpec>{{.name = "layer",
                                                 .type = OptionType::kTables,
                                                 .help = "The layers, from the input up."}});
  return *tables.AsList();
}

List FromZoo(const Value& section, const std::string& name, const ModelTask& task) {
  const ModelEntry& entry = FindEntry(models(), "model", name);
  Value given = section;
  given.Erase("name");
  const Options options("model", given, entry.options);
  return entry.build(options, task);
}

/// Whether a model of the zoo has the option `loss` itself.
bool HasOwnLoss(const Value& section) {
  const Value* name = section.Find("name");
  if (!name || !name->AsString()) return false;
  const auto& options = FindEntry(models(), "model", *name->AsString()).options;
  return std::ranges::count(options, "loss", &OptionSpec::name) > 0;
}

/// [model] without the keys of regression_loss_options.
Value WithoutLoss(Value section) {
  if (section.Find("layer") || HasOwnLoss(section)) return section;
  for (const OptionSpec& key : regression_loss_options()) section.Erase(key.name);
  return section;
}

/// Appends the loss that [model] names.
void AppendLoss(const Value& section, List& layers) {
  const Value *loss = section.Find("loss"), *given = section.Find("loss_options");
  Require(loss || !given, "{}: model.loss_options needs model.loss", given ? given->place() : "");
  if (!loss || HasOwnLoss(section)) return;
  Value layer = given ? *given : Value(Table{});
  layer.Set("type", *loss);
  if (LossOf(layers.back())) layers.pop_back();  // the one that an ONNX file notes
  layers.push_back(std::move(layer));
}

/// The options of [model] with an ONNX file.
Options FileOptions(const Value& section) {
  std::vector<OptionSpec> keys = file_model_options();
  keys.insert(keys.end(), {{.name = "file", .type = OptionType::kPath},
                           {.name = "initialize", .type = OptionType::kBool},
                           {.name = "replace_head", .type = OptionType::kBool}});
  return {"model", WithoutLoss(WithoutConvolutionKeys(section)), keys};
}

bool ReplacesHead(const Value& section) {
  const Value* replace = section.Find("replace_head");
  return replace && *replace == Value(true);
}

OnnxModel ReadFile(const Options& options, const ModelTask& task) {
  const bool hashed = zoo::HashesOutput(options);
  OnnxStart start;
  if (ReplacesHead(options.Resolved())) start.outputs = task.outputs;
  if (hashed) start.hashed = options.Has("lsh") ? *options.Raw("lsh").AsTable() : Table{};
  return ReadOnnxFor(options.String("file"), task, start);
}

/// Throws what the hashed layer of a named model or a file refuses, by the name of the job's key.
void CheckHashed(const Value& options, const List& list) {
  const auto type = [](const Value& layer) { return *layer.Find("type"); };
  const Value& hashed = *std::ranges::find(list, Value("lsh_linear"), type);
  Value all = options;
  all.Set("outputs", *hashed.Find("outputs"));
  const LayerEntry& entry = FindEntry(layers(), "layer", "lsh_linear");
  entry.make({"model.lsh", all, entry.options}, {.name = "output", .input = {.shape = {1}}});
}

/// The section without what says where weights come from.
Value WithoutStartKeys(Value section) {
  section.Erase("start");
  section.Erase("keep_classes");
  if (!section.Find("file")) section.Erase("replace_head");
  return section;
}

/// The layers of a checkpoint have the outputs of its data: gives them those of the task if its
/// head is replaced.
void FitHead(const Value& section, const ModelTask& task, List& layers) {
  if (ReplacesHead(section)) return SizeOutputs(layers, task.outputs);
  const Value* start = section.Find("start");
  if (!start) return;
  for (const size_t i : OutputLayers(layers))
    if (const Value* outputs = layers[i].Find("outputs"); outputs && outputs->AsInt())
      RequireSameOutputs(*start->AsString(), *outputs->AsInt(), task);
}

List LayersOf(const Value& section, const ModelTask& task) {
  const Value* name = section.Find("name");
  const Value* tables = section.Find("layer");
  const Value* file = section.Find("file");
  Require(name || tables || file,
          "model: give the name of a model, an ONNX file, or [[model.layer]] tables");
  Require(int{name != nullptr} + int{tables != nullptr} + int{file != nullptr} == 1,
          "model: give either a name, a file or [[model.layer]] tables, not several");
  if (file) return ReadFile(FileOptions(section), task).layers;
  if (tables) return FromLayers(section, *tables);
  Require(name->AsString(), "{}: model.name must be a string in quotes", name->place());
  return FromZoo(section, *name->AsString(), task);
}

}  // namespace

namespace layer {
#define YOKE_LAYER(name) LayerEntry name();
#include "model/layers.def"
#undef YOKE_LAYER
}  // namespace layer

namespace zoo {
#define YOKE_MODEL(name) ModelEntry name();
#include "model/models.def"
#undef YOKE_MODEL
}  // namespace zoo

namespace {

OwnEntries<LayerEntry>& AllLayers() {
  static OwnEntries<LayerEntry> entries("layer", {
#define YOKE_LAYER(name) layer::name(),
#include "model/layers.def"
#undef YOKE_LAYER
                                                 });
  return entries;
}

/// Completes the layer that looks up vectors of the data's categories, or begins with one.
void EmbedCategories(const ModelTask& task, List& layers) {
  if (task.categories.empty()) return;
  const auto is_embedding = [](const Value& layer) {
    const Value* type = layer.Find("type");
    return type && *type == Value("embedding");
  };
  if (std::ranges::none_of(layers, is_embedding))
    layers.insert(layers.begin(), Table{{"type", "embedding"}});
  Value& layer = *std::ranges::find_if(layers, is_embedding);
  if (!layer.Find("categories")) layer.Set("categories", ListOf(task.categories));
}

}  // namespace

const std::vector<LayerEntry>& layers() { return AllLayers().all(); }

void AddLayer(LayerEntry entry) { AllLayers().Add(std::move(entry)); }

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = {
#define YOKE_MODEL(name) zoo::name(),
#include "model/models.def"
#undef YOKE_MODEL
  };
  return entries;
}

std::vector<std::string> LayerNames(const List& layers) {
  LayerNamer namer;
  std::vector<std::string> names;
  for (const Value& layer : layers) {
    const Value *type = layer.Find("type"), *name = layer.Find("name");
    if (!type || !type->AsString()) return names;  // the graph reports the error
    const bool named = name && name->AsString();
    names.push_back(namer.Name(*type->AsString(), named ? *name->AsString() : ""));
  }
  return names;
}

List ModelLayers(const Value& model_section, const ModelTask& task) {
  const Value own = WithoutLoss(WithoutConvolutionKeys(model_section));
  List layers = LayersOf(WithoutStartKeys(own), task);
  if (!model_section.Find("layer")) AppendLoss(model_section, layers);
  EmbedCategories(task, layers);
  FitHead(model_section, task, layers);
  if (const Value* lsh = model_section.Find("lsh")) CheckHashed(*lsh, layers);
  SetConvolutionKeys(model_section, layers);
  return layers;
}

const OptionSpec* AlgorithmOption(const Value& layer) {
  const std::string& type = *layer.Find("type")->AsString();
  const std::vector<OptionSpec>& options = FindEntry(layers(), "layer", type).options;
  const auto at = std::ranges::find(options, "algorithm", &OptionSpec::name);
  return at == options.end() ? nullptr : &*at;
}

Graph BuildModel(const Value& model_section, const ModelTask& task, DType rows) {
  Graph graph(ModelLayers(model_section, task), task, rows);
  RequireParameters(graph);
  return graph;
}

void RequireParameters(const Graph& graph) {
  Require(graph.layout().Parameters() > 0,
          "the model has no parameters: nothing in it can be trained");
}

void CopyFileWeights(const Value& model_section, const ModelTask& task, const ParamLayout& layout,
                     float* values) {
  if (!model_section.Find("file")) return;
  const Options options = FileOptions(model_section);
  if (options.Has("initialize") && options.Bool("initialize")) return;
  const std::string& file = options.String("file");
  CopyWeights(ReadFile(options, task), file, layout, values);
}

std::string FileAdvice(const Value& model_section) {
  if (!model_section.Find("file")) return "";
  const Options options = FileOptions(model_section);
  if (options.String("output") == "lsh" || !ReadOnnx(options.String("file")).hashed) return "";
  return fmt::format(
      "{} was trained with the hashed layer as output; it is dense now, which is slower with many "
      "labels: model.output = \"lsh\" hashes it again",
      options.String("file"));
}

const std::vector<OptionSpec>& regression_loss_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "loss",
       .help = "The loss of a regression; by default mean_squared_error. Its unit is the standard "
               "deviation of the target.",
       .choices = {"mean_squared_error", "mean_absolute_error", "huber", "quantile"}},
      {.name = "loss_options",
       .type = OptionType::kTable,
       .help = "Options of that loss: `{level = 0.9}` of quantile, `{delta = 0.5}` of huber."}};
  return options;
}

const std::vector<OptionSpec>& file_model_options() {
  static const std::vector<OptionSpec> options = zoo::HashedOutputOptions(
      "The output layer of the file: as it is, or the hashed lsh_linear, which computes only a few "
      "of the outputs in each step.");
  return options;
}

}  // namespace yoke
