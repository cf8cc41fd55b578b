// Helpers for the zoo's models to write their lists of layers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/options.h"
#include "model/graph.h"

namespace yoke::zoo {

/// The table of one layer, as in [[model.layer]].
inline Value Layer(const char* type, Table options = {}) {
  Table table = {{"type", type}};
  for (auto& option : options) table.push_back(std::move(option));
  return Value(std::move(table));
}

/// Options `output` and `lsh` of a model whose output layer may be hashed; `output_help` says of
/// which layer the first is.
inline std::vector<OptionSpec> HashedOutputOptions(const char* output_help) {
  return {{.name = "output",
           .type = OptionType::kString,
           .fallback = "dense",
           .help = output_help,
           .choices = {"dense", "lsh"}},
          {.name = "lsh",
           .type = OptionType::kTable,
           .help = "Options of the layer lsh_linear, for output = \"lsh\"."}};
}

/// Whether they ask for the hashed layer. Throws UserError for `lsh` without it.
inline bool HashesOutput(const Options& options) {
  const bool hashed = options.String("output") == "lsh";
  Require(hashed || !options.Has("lsh"),
          "{} sets the hashed output layer, but output is \"dense\": expected output = \"lsh\"",
          options.Where("lsh"));
  return hashed;
}

/// Writes the layers of a deep network one by one. By default, each layer's input is the layer
/// before it.
class Writer {
 public:
  /// Appends a layer and returns its name, for the inputs of other layers.
  std::string Add(const std::string& name, const char* type, Table options = {},
                  const std::vector<std::string>& inputs = {}) {
    options.insert(options.begin(), {"name", name});
    if (!inputs.empty()) options.emplace_back("inputs", List(inputs.begin(), inputs.end()));
    layers_.push_back(Layer(type, std::move(options)));
    return name;
  }
  std::string Relu(const std::string& name) { return Add(name, "relu"); }

  List Finish() { return std::move(layers_); }

 private:
  List layers_;
};

/// A square sliding window.
struct Square {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;

  /// The options of a layer with this window.
  Table Options(Table others = {}) const {
    others.emplace_back("kernel", List{kernel});
    others.emplace_back("stride", List{stride});
    others.emplace_back("padding", List{padding});
    return others;
  }
};

/// A linear layer; sparse if it is the first layer of a task with sparse input.
inline Value Weighted(const ModelTask& task, const List& below, int64_t outputs) {
  return Layer(below.empty() && task.input.sparse ? "sparse_linear" : "linear",
               {{"outputs", outputs}});
}

/// Throws UserError unless the input is an image of at least `least` x `least`.
inline void RequireImage(const char* model, const ModelTask& task, int64_t least) {
  const Shape& shape = task.input.shape;
  Require(
      !task.input.sparse && shape.rank() == 3 && shape[1] >= least && shape[2] >= least,
      "model '{}' needs images of at least {}x{}, but an example of the data is {}{}: try model "
      "{}'mlp'",
      model, least, least, shape.Text(),
      task.input.sparse   ? " sparse numbers"
      : shape.rank() == 3 ? " (channels x height x width)"
                          : "",
      !task.input.sparse && shape.rank() == 3 && least > 28 ? "'lenet' or " : "");
}

}  // namespace yoke::zoo
