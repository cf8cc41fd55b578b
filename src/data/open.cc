// Opens the data of a job: loads its files, splits validation and test shares off, normalizes.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/options.h"
#include "base/random.h"
#include "base/registry.h"
#include "data/memory_reader.h"
#include "data/memory_sets.h"
#include "data/preprocess.h"

namespace yoke {

#define YOKE_FORMAT(name) FormatEntry name##_format();
#include "data/formats.def"
#undef YOKE_FORMAT

const std::vector<FormatEntry>& formats() {
  static const std::vector<FormatEntry> entries = {
#define YOKE_FORMAT(name) name##_format(),
#include "data/formats.def"
#undef YOKE_FORMAT
  };
  return entries;
}

namespace {

std::vector<OptionSpec> ShareOptions() {
  return {{.name = "test_share",
           .type = OptionType::kFloat,
           .help = "Fraction of the training examples, drawn by the seed, used as test data.",
           .minimum = 0,
           .maximum = 0.95,
           .exclusive_minimum = true},
          {.name = "validation_share",
           .type = OptionType::kFloat,
           .help = "Fraction of the training examples, drawn by the seed, held out for validation.",
           .minimum = 0,
           .maximum = 0.95,
           .exclusive_minimum = true}};
}

std::vector<OptionSpec> NormalizeOptions() {
  return {
      {.name = "normalize",
       .fallback = "auto",
       .help = "auto: image bytes become value/255, other values do not change; none: no value "
               "changes; standard: like auto, then mean 0 and standard deviation 1 per channel "
               "(of a vector: per feature), measured on the training examples.",
       .choices = {"auto", "none", "standard"}},
      {.name = "mean",
       .type = OptionType::kFloats,
       .help =
           "Subtracted from the values (after the factor 1/255): one number, or one per channel."},
      {.name = "deviation",
       .type = OptionType::kFloats,
       .help = "The values are then divided by it: one number, or one per channel.",
       .minimum = 0,
       .exclusive_minimum = true}};
}

std::vector<OptionSpec> CommonOptions() {
  std::vector<OptionSpec> specs = {
      {.name = "format", .help = "The format of the files: `yoke list formats`.", .required = true},
      {.name = "train", .type = OptionType::kPaths, .help = "Training file or files."},
      {.name = "test", .type = OptionType::kPaths, .help = "Test file or files."}};
  for (const auto& more : {ShareOptions(), NormalizeOptions()})
    specs.insert(specs.end(), more.begin(), more.end());
  specs.push_back({.name = "features",
                   .type = OptionType::kInt,
                   .help = "Number of features; by default the maximum over the job's files.",
                   .minimum = 1,
                   .maximum = INT32_MAX - 1});
  specs.push_back({.name = "memory_limit",
                   .type = OptionType::kInt,
                   .help = "Megabytes of memory for data; larger data is in a temporary file. By "
                           "default half of what this process may use.",
                   .minimum = 0,
                   .maximum = kMostCount});
  specs.push_back({.name = "augment",
                   .type = OptionType::kTable,
                   .help = "Random changes of training images: { flip = true, crop = 4 }."});
  return specs;
}

// [data] with its format, checked.
struct Request {
  const FormatEntry& format;
  Options options;
};

Request CheckSection(const Value& section) {
  const Value* name = section.Find("format");
  Require(name && name->AsString(), "data.format: expected the name of a format in quotes");
  const FormatEntry& format = FindEntry(formats(), "format", *name->AsString());
  std::vector<OptionSpec> specs = common_data_options();
  specs.insert(specs.end(), format.options.begin(), format.options.end());
  return {format, Options("data", section, specs)};
}

std::vector<std::string> PathsOf(const Options& options, const char* key) {
  return options.Has(key) ? options.Strings(key) : std::vector<std::string>();
}

// The arrays share the limit: each of the two sets has at most two large ones (ids and values).
int64_t ArrayLimit(const Options& options) {
  const int64_t limit =
      options.Has("memory_limit") ? options.Int("memory_limit") << 20 : DefaultMemoryLimit();
  return limit / 4;
}

void CheckFeatures(const Options& options, const DataInfo& info) {
  if (info.sparse || !options.Has("features")) return;
  Require(options.Int("features") == info.input.Count(), "{}: examples have {} numbers",
          options.Where("features"), info.input.Count());
}

// Labels that are measurements would make a model with as many outputs.
void CheckClasses(const LoadedData& loaded) {
  constexpr int64_t kMany = 1000;
  const int64_t classes = loaded.info.outputs, examples = loaded.train.size;
  Require(loaded.info.multi_label || classes > 1,
          "data.train: all examples are of one class, '{}'; expected two or more",
          fmt::join(loaded.info.label_names, ""));
  Require(loaded.info.multi_label || classes <= kMany || classes <= examples / 2,
          "data.train: {} different labels in {} examples; expected classes, not measurements",
          classes, examples);
}

// The examples of a training file by set, each list ascending.
struct Split {
  std::vector<int64_t> test, validation, train;
};

int64_t CountOf(const Options& options, const char* key, int64_t examples) {
  if (!options.Has(key)) return 0;
  const auto count = std::llround(options.Float(key) * static_cast<double>(examples));
  return std::clamp<int64_t>(count, 1, examples);
}

// Draws test examples first, then validation examples from the rest, so that the test set does not
// depend on validation_share.
Split SplitExamples(const Options& options, int64_t examples, uint64_t seed) {
  const std::vector<int64_t> drawn = Permutation(examples, Random({seed, Word(Draw::kSplit)}));
  const auto test = drawn.begin() + CountOf(options, "test_share", examples);
  const auto validation = test + CountOf(options, "validation_share", drawn.end() - test);
  Require(validation != drawn.end(),
          "{}: no training example is left of {}; expected smaller shares", options.section(),
          examples);
  Split split{{drawn.begin(), test}, {test, validation}, {validation, drawn.end()}};
  for (auto* share : {&split.test, &split.validation, &split.train})
    std::sort(share->begin(), share->end());
  return split;
}

void CheckFiles(const Request& request, const ReadFiles& files) {
  if (request.format.synthetic) return;
  Require(!files.train.empty(), "data.train: expected the training file or files of format '{}'",
          request.format.name);
}

void CheckShares(const Options& options, bool has_test) {
  Require(!has_test || !options.Has("test_share"),
          "{}: the job names test data too; expected one of them", options.Where("test_share"));
}

// The normalization of a job, measured if requested.
MeasuredChannels Measure(const Options& options, const std::shared_ptr<MemoryReader>& all,
                         const Split& split) {
  if (!IsMeasured(options)) return {all->Info().normalization, {}};
  Require(!all->Info().sparse, "{}: sparse data cannot be shifted; expected dense data",
          options.Where("normalize"));
  return MeasureChannels(*Subset(all, split.train));
}

// Whether the format would rescale numbers in a second pass over the files.
bool CanRescale(const Request& request, const ReadFiles& files) {
  const auto all_reopen = [](const auto& paths) {
    return std::all_of(paths.begin(), paths.end(), CanReopen);
  };
  return !request.format.synthetic && files.rescaling.origin.empty() && all_reopen(files.train) &&
         all_reopen(files.test);
}

DataSets OpenFiles(const Request& request, const ReadFiles& files, uint64_t seed);

DataSets SetsOf(LoadedData loaded, const Request& request, const ReadFiles& files, uint64_t seed) {
  const Options& options = request.options;
  CheckFeatures(options, loaded.info);
  CheckClasses(loaded);
  CheckShares(options, loaded.test.size > 0);
  loaded.info.normalization = ChosenNormalization(options, loaded.info);
  DataSets sets;
  sets.notes = std::move(loaded.notes);
  sets.training_files = ChecksumOf(loaded.info, loaded.train);
  sets.test_files = ChecksumOf(loaded.info, loaded.test);
  const bool rescales = loaded.train.bytes.empty() && CanRescale(request, files);
  auto all = std::make_shared<MemoryReader>(loaded.info, std::move(loaded.train));
  Split split = SplitExamples(options, all->Size(), seed);
  const auto [normalization, needed] = Measure(options, all, split);
  if (rescales && !needed.origin.empty()) {
    all.reset();
    loaded.test = MemoryData();
    ReadFiles again = files;
    again.rescaling = needed;
    return OpenFiles(request, again, seed);
  }
  all->SetNormalization(normalization);
  if (loaded.test.size > 0) {
    loaded.info.normalization = normalization;
    sets.test = std::make_unique<MemoryReader>(loaded.info, std::move(loaded.test));
  } else if (!split.test.empty()) {
    sets.test = Subset(all, std::move(split.test));
  }
  if (!split.validation.empty()) sets.validation = Subset(all, std::move(split.validation));
  sets.train = Subset(all, std::move(split.train));
  if (options.Has("augment")) sets.train = Augment(std::move(sets.train), options.Raw("augment"));
  return sets;
}

DataSets OpenFiles(const Request& request, const ReadFiles& files, uint64_t seed) {
  return SetsOf(request.format.load(request.options, files), request, files, seed);
}

}  // namespace

const std::vector<OptionSpec>& common_data_options() {
  static const std::vector<OptionSpec> specs = CommonOptions();
  return specs;
}

DataSets OpenData(const Value& data_section, uint64_t seed) {
  const Request request = CheckSection(data_section);
  const Options& options = request.options;
  const ReadFiles files{.train = PathsOf(options, "train"),
                        .test = PathsOf(options, "test"),
                        .memory_limit = ArrayLimit(options)};
  CheckFiles(request, files);
  CheckShares(options, !files.test.empty());
  return OpenFiles(request, files, seed);
}

DataSets OpenMemory(const Value& data_section, LoadedData loaded, uint64_t seed) {
  return SetsOf(std::move(loaded), CheckSection(data_section), {}, seed);
}

std::unique_ptr<Reader> OpenLike(const Value& data_section, const LikeRequest& like) {
  const Request request = CheckSection(data_section);
  const Options& options = request.options;
  const bool share = like.paths.empty() && options.Has("test_share");
  ReadFiles files{.test = like.paths,
                  .like = &like.like,
                  .rescaling = like.like.normalization.rescaling,
                  .test_only = !share,
                  .labels_optional = like.labels_optional,
                  .memory_limit = ArrayLimit(options)};
  if (files.test.empty()) files.test = PathsOf(options, share ? "train" : "test");
  Require(!files.test.empty() || request.format.synthetic,
          "the run has no test data: its job sets neither data.test nor data.test_share; expected "
          "a file to read");
  LoadedData loaded = request.format.load(options, files);
  if (like.notes) *like.notes = std::move(loaded.notes);
  const DataInfo& read = loaded.info;
  Require(read.input == like.like.input, "{}: examples are {}; the model expects {}",
          files.test.empty() ? options.section() : files.test.front(), read.input.Text(),
          like.like.input.Text());
  Normalization normalization = like.like.normalization;
  normalization.rescaling = loaded.info.normalization.rescaling;  // what the format has done
  loaded.info.normalization = std::move(normalization);
  MemoryData& data = share && request.format.synthetic ? loaded.train : loaded.test;
  auto all = std::make_unique<MemoryReader>(loaded.info, std::move(data));
  if (!share) return all;
  const std::shared_ptr<const Reader> source = std::move(all);
  return Subset(source, SplitExamples(options, source->Size(), like.seed).test);
}

}  // namespace yoke
