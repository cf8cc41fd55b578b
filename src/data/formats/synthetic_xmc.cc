// synthetic-xmc: extreme multi-label data with planted structure, generated when the job starts.
#include "data/memory_reader.h"
#include "data/xmc.h"

namespace yoke {
namespace {

constexpr int64_t kDefaultFeatures = 10000;

LoadedData LoadSyntheticXmc(const Options& options, const ReadFiles& files) {
  const XmcShape shape = {
      .features = options.Has("features") ? options.Int("features") : kDefaultFeatures,
      .labels = options.Int("labels"),
      .nonzeros = options.Float("nonzeros"),
      .labels_per_example = options.Float("labels_per_example"),
      .seed = static_cast<uint64_t>(options.Int("seed"))};
  LoadedData data(files.memory_limit);
  data.info.input = {shape.features};
  data.info.sparse = true;
  data.info.multi_label = true;
  data.info.outputs = shape.labels;
  if (files.like) data.info = *files.like;
  if (!files.test_only) GenerateXmc(shape, false, options.Int("train_size"), data.train);
  GenerateXmc(shape, true, options.Int("test_size"), data.test);
  return data;
}

OptionSpec Count(const std::string& name, int64_t fallback, double minimum,
                 const std::string& help) {
  return {.name = name,
          .type = OptionType::kInt,
          .fallback = fallback,
          .help = help,
          .minimum = minimum,
          .maximum = 1e9};
}

OptionSpec Mean(const std::string& name, double fallback, const std::string& help) {
  return {.name = name,
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = help,
          .minimum = 1,
          .maximum = 1e4};
}

}  // namespace

FormatEntry synthetic_xmc_format() {
  return {
      .name = "synthetic-xmc",
      .summary = "extreme multi-label data with planted structure, of any size",
      .options = {Count("labels", 1000, 2, "Number of labels."),
                  Count("train_size", 10000, 1, "Training examples to generate."),
                  Count("test_size", 2000, 0, "Test examples to generate; 0: no test data."),
                  Mean("nonzeros", 75, "Mean number of features drawn per example."),
                  Mean("labels_per_example", 5, "Mean number of labels drawn per example."),
                  Count("seed", 1, 0, "Which data is generated; train.seed does not change it.")},
      .synthetic = true,
      .load = &LoadSyntheticXmc};
}

}  // namespace yoke
