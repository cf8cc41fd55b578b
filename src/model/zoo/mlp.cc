// Multi-layer perceptron: hidden layers of given widths, each followed by an activation, and one
// score per class or label. Without hidden layers it is the linear model: softmax regression for
// classes, one logistic regression per label for label sets.
#include "base/options.h"
#include "model/layers/support.h"
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

List BuildMlp(const Options& options, const ModelTask& task) {
  List list;
  for (int64_t width : options.Ints("widths")) {
    Require(width > 0, "{}: every width must be at least 1", options.Where("widths"));
    list.push_back(Weighted(task, list, width));
    if (options.Has("initializer")) list.back().Set("initializer", options.String("initializer"));
    list.push_back(Layer(options.String("activation").c_str()));
  }
  list.push_back(Weighted(task, list, task.outputs));
  return list;
}

OptionSpec HiddenInitializer() {
  OptionSpec spec =
      layer::InitializerOption("initializer", "",
                               "Initial weights of the hidden layers, by default those of "
                               "the layer; deep networks of sigmoid need xavier_sigmoid.");
  spec.fallback = {};
  return spec;
}

}  // namespace

ModelEntry mlp() {
  return {.name = "mlp",
          .summary = "Multi-layer perceptron with hidden layers of given widths",
          .options = {{.name = "widths",
                       .type = OptionType::kInts,
                       .fallback = List{512, 512},
                       .help = "Widths of the hidden layers, from the input up.",
                       .minimum = 1,
                       .maximum = kMostCount},
                      {.name = "activation",
                       .type = OptionType::kString,
                       .fallback = "relu",
                       .help = "The activation after each hidden layer.",
                       .choices = {"relu", "sigmoid", "tanh"}},
                      HiddenInitializer()},
          .build = BuildMlp};
}

ModelEntry linear() {
  return {.name = "linear",
          .summary = "Softmax regression (classes) or a logistic regression for each label",
          .options = {},
          .build = [](const Options&, const ModelTask& task) -> List {
            return {Weighted(task, {}, task.outputs)};
          }};
}

}  // namespace yoke::zoo
