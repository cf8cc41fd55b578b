// The zoo: models.def once as declarations, once as the table; and the way from a job's [model] to
// a graph.
#include "base/registry.h"
#include "model/graph.h"

namespace yoke {
namespace {

Graph FromLayers(const Value& section, const Value& tables, const ModelTask& task) {
  const Options options("model", section,
                        std::vector<OptionSpec>{{.name = "layer",
                                                 .type = OptionType::kTables,
                                                 .help = "The layers, from the input up."}});
  return Graph(*tables.AsList(), task);
}

Graph FromZoo(const Value& section, const std::string& name, const ModelTask& task) {
  const ModelEntry& entry = FindEntry(models(), "model", name);
  Value given = section;
  given.Erase("name");
  const Options options("model", given, entry.options);
  return Graph(entry.build(options, task), task);
}

}  // namespace

namespace zoo {
#define YOKE_MODEL(name) ModelEntry name();
#include "model/models.def"
#undef YOKE_MODEL
}  // namespace zoo

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = {
#define YOKE_MODEL(name) zoo::name(),
#include "model/models.def"
#undef YOKE_MODEL
  };
  return entries;
}

Graph BuildModel(const Value& model_section, const ModelTask& task) {
  const Value* name = model_section.Find("name");
  const Value* tables = model_section.Find("layer");
  Require(name || tables, "model: give the name of a model, or [[model.layer]] tables");
  Require(!name || !tables, "model: give either a name or [[model.layer]] tables, not both");
  if (tables) return FromLayers(model_section, *tables, task);
  Require(name->AsString(), "{}: model.name must be a text in quotes", name->place());
  return FromZoo(model_section, *name->AsString(), task);
}

}  // namespace yoke
