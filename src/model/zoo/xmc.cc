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
  const bool hashed = HashesOutput(options);
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
  std::vector<OptionSpec> options = {
      {.name = "hidden",
       .type = OptionType::kInt,
       .fallback = 128,
       .help = "Width of the hidden layer.",
       .minimum = 1,
       .maximum = kMostCount},
      {.name = "loss",
       .type = OptionType::kString,
       .fallback = "sigmoid",
       .help = "Sigmoid cross-entropy summed over labels, or softmax against 1/|labels| for each "
               "label of an example, which output = \"lsh\" takes unless told.",
       .choices = {"sigmoid", "softmax"}}};
  for (OptionSpec& option :
       HashedOutputOptions("The output layer: linear, or the hashed lsh_linear, which computes "
                           "only a few of the outputs in each step.")) {
    if (option.name == "output") option.tries = {"dense", "lsh"};
    options.push_back(std::move(option));
  }
  return {.name = "xmc",
          .summary = "Sparse features, one hidden layer, very many labels",
          .options = std::move(options),
          .build = BuildXmc};
}

}  // namespace yoke::zoo
