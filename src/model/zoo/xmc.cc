// Extreme multi-label classification: sparse features, one hidden layer, a score for each of very
// many labels. The network of Chen et al., "SLIDE" (2020), with its softmax against 1/|labels| as
// an option.
#include "base/options.h"
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

List BuildXmc(const Options& options, const ModelTask& task) {
  Require(task.input.sparse,
          "model 'xmc' needs sparse data (formats xmc, libsvm), but an example of the data is {}: "
          "try model 'mlp'",
          task.input.shape.Text());
  const bool softmax = options.String("loss") == "softmax";
  const bool hashed = options.String("output") == "lsh";
  Require(hashed || !options.Has("lsh"),
          "{} sets the hashed output layer, but output is \"dense\": expected output = \"lsh\"",
          options.Where("lsh"));
  Table output = {{"outputs", task.outputs}};
  if (options.Has("lsh"))
    for (const auto& option : *options.Raw("lsh").AsTable()) {
      Require(option.first != "outputs",
              "{}: the number of outputs follows from the data: leave it out",
              options.Where("lsh") + ".outputs");
      output.push_back(option);
    }
  return {Layer("sparse_linear", {{"outputs", options.Int("hidden")}}), Layer("relu"),
          Layer(hashed ? "lsh_linear" : "linear", std::move(output)),
          Layer(softmax ? "softmax_cross_entropy" : "sigmoid_cross_entropy")};
}

}  // namespace

ModelEntry xmc() {
  return {.name = "xmc",
          .summary = "Sparse features, one hidden layer, very many labels",
          .options = {{.name = "hidden",
                       .type = OptionType::kInt,
                       .fallback = 128,
                       .help = "Width of the hidden layer.",
                       .minimum = 1,
                       .maximum = kMostCount},
                      {.name = "loss",
                       .type = OptionType::kString,
                       .fallback = "sigmoid",
                       .help = "Sigmoid cross-entropy summed over labels, or softmax against "
                               "1/|labels| for each label of an example.",
                       .choices = {"sigmoid", "softmax"}},
                      {.name = "output",
                       .type = OptionType::kString,
                       .fallback = "dense",
                       .help = "The output layer: linear, or the hashed lsh_linear, which computes "
                               "only a few of the outputs in each step.",
                       .choices = {"dense", "lsh"},
                       .tries = {"dense", "lsh"}},
                      {.name = "lsh",
                       .type = OptionType::kTable,
                       .help = "Options of the layer lsh_linear, for output = \"lsh\"."}},
          .build = BuildXmc};
}

}  // namespace yoke::zoo
