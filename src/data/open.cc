// Opens the data of a job: loads its files, splits validation and test shares off, normalizes.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/options.h"
#include "base/random.h"
#include "base/registry.h"
#include "data/memory_reader.h"
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

bool IsOfKind(const Value& data_section, FormatKind kind) {
  const Value* const name = data_section.Find("format");
  return name && std::ranges::any_of(formats(), [&](const FormatEntry& entry) {
           return entry.kind == kind && *name == Value(entry.name);
         });
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
           .exclusive_minimum = true},
          {.name = "stratify",
           .type = OptionType::kBool,
           .fallback = false,
           .help = "Whether these shares take the same fraction of every class."},
          {.name = "split_seed",
           .type = OptionType::kInt,
           .help = "Seed that draws these shares; by default train.seed.",
           .minimum = 0,
           .maximum = 1e9}};
}

std::vector<OptionSpec> NormalizeOptions() {
  return {
      {.name = "normalize",
       .fallback = "auto",
       .help = "auto: image bytes become value/255, a table's columns of numbers get mean 0 and "
               "standard deviation 1, measured on the training examples, other values do not "
               "change; none: no value changes; standard: mean 0 and standard deviation 1 per "
               "channel (of a vector: per feature), of images after the factor 1/255.",
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
      {.name = "test", .type = OptionType::kPaths, .help = "Test file or files."},
      {.name = "validation",
       .type = OptionType::kPaths,
       .help = "Validation file or files, instead of validation_share."}};
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
  specs.push_back({.name = "start",
                   .type = OptionType::kTable,
                   .help = "Columns, categories and statistics of the table that model.start was "
                           "trained on; yoke sets it."});
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
  if (loaded.info.regression) return;
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
  return std::clamp<int64_t>(count, std::clamp<int64_t>(examples - 1, 0, 1), examples);
}

// Cuts drawn examples: test examples first, then validation examples from the rest, so that the
// test set does not depend on validation_share.
void Cut(const Options& options, const std::vector<int64_t>& drawn, Split& split) {
  const auto test = drawn.begin() + CountOf(options, "test_share", std::ssize(drawn));
  const auto validation = test + CountOf(options, "validation_share", drawn.end() - test);
  split.test.insert(split.test.end(), drawn.begin(), test);
  split.validation.insert(split.validation.end(), test, validation);
  split.train.insert(split.train.end(), validation, drawn.end());
}

// The drawn examples of each class.
std::vector<std::vector<int64_t>> ByClass(const std::vector<int64_t>& drawn,
                                          const std::vector<int32_t>& classes) {
  std::vector<std::vector<int64_t>> lists(
      static_cast<size_t>(*std::max_element(classes.begin(), classes.end())) + 1);
  for (const int64_t example : drawn)
    lists[static_cast<size_t>(classes[static_cast<size_t>(example)])].push_back(example);
  return lists;
}

// `classes`: of each example, to cut every class alike; empty: all examples are cut together.
Split SplitExamples(const Options& options, int64_t examples, uint64_t seed,
                    const std::vector<int32_t>& classes) {
  if (options.Has("split_seed")) seed = static_cast<uint64_t>(options.Int("split_seed"));
  const std::vector<int64_t> drawn = Permutation(examples, Random({seed, Word(Draw::kSplit)}));
  Split split;
  if (classes.empty())
    Cut(options, drawn, split);
  else
    for (const auto& of_class : ByClass(drawn, classes)) Cut(options, of_class, split);
  Require(!split.train.empty(), "{}: no training example is left of {}; expected smaller shares",
          options.section(), examples);
  for (auto* share : {&split.test, &split.validation, &split.train})
    std::sort(share->begin(), share->end());
  return split;
}

// The classes to split by; empty unless the job asks for it.
std::vector<int32_t> ClassesToSplit(const Options& options, const DataInfo& info,
                                    const MemoryData& data) {
  const auto shares = options.Has("test_share") || options.Has("validation_share");
  for (const char* key : {"stratify", "split_seed"})
    Require(shares || !options.Has(key) || options.Raw(key) == Value(false),
            "{} has no effect: expected test_share or validation_share", options.Where(key));
  if (!options.Bool("stratify")) return {};
  Require(info.labelled && !info.multi_label && !info.regression,
          "{}: expected data with one class an example", options.Where("stratify"));
  const auto classes = data.classes.span();
  return {classes.begin(), classes.end()};
}

void CheckFiles(const Request& request, const ReadFiles& files) {
  for (const auto& paths : {files.train, files.test, PathsOf(request.options, "validation")})
    for (const std::string& path : paths)
      Require(request.format.kind == FormatKind::kTable || !path.ends_with(".parquet"),
              "{}: a Parquet file; expected format = \"parquet\"", path);
  Require(!request.format.synthetic || !request.options.Has("validation"),
          "{}: format '{}' reads no files; expected validation_share",
          request.options.Where("validation"), request.format.name);
  if (request.format.synthetic) return;
  Require(!files.train.empty(),
          "{}: format '{}' reads files; expected data.train, the training file or files",
          request.options.Where("format"), request.format.name);
}

void CheckShares(const Options& options, bool has_test, bool has_validation) {
  for (const char* key : {"validation", "validation_share"})
    Require(!has_validation || !options.Has(key),
            "{}: the training files hold validation examples, too; leave it out",
            options.Where(key));
  Require(!options.Has("validation") || !options.Has("validation_share"),
          "{}: the job names validation data too; expected one of them",
          options.Where("validation_share"));
  Require(!has_test || !options.Has("test_share"),
          "{}: the job names test data too; expected one of them", options.Where("test_share"));
}

// Features that are 0 or 1 stay so: categories, and indicators of missing numbers.
void KeepIndicators(const std::vector<ColumnEncoding>& encodings, MeasuredChannels& measured) {
  size_t feature = 0;
  for (const ColumnEncoding& encoding : encodings)
    for (int64_t i = 0; i < encoding.Features(); ++i, ++feature) {
      if (i == 0 && !encoding.IsText()) continue;
      measured.normalization.mean[feature] = 0;
      measured.normalization.deviation[feature] = 1;
      if (measured.needed.origin.empty()) continue;
      measured.needed.origin[feature] = 0;
      measured.needed.unit[feature] = 1;
    }
}

// The normalization of a job, measured if requested.
MeasuredChannels Measure(const Options& options, const std::shared_ptr<MemoryReader>& all,
                         const Split& split, bool table) {
  if (table && options.String("normalize") == "auto" && !options.Has("mean") &&
      !options.Has("deviation")) {
    MeasuredChannels measured = MeasureChannels(*Subset(all, split.train));
    KeepIndicators(all->Info().encodings, measured);
    return measured;
  }
  if (!IsMeasured(options)) return {all->Info().normalization, {}};
  Require(!all->Info().sparse, "{}: sparse data cannot be shifted; expected dense data",
          options.Where("normalize"));
  return MeasureChannels(*Subset(all, split.train));
}

// The numbers of categories name rows of tables.
void CheckEncodings(const Options& options, const DataInfo& info) {
  const bool measured = options.String("normalize") == "standard";
  Require((!measured && !options.Has("mean") && !options.Has("deviation")) ||
              !std::ranges::any_of(info.encodings, &ColumnEncoding::by_id),
          "{}: vectors of categories are looked up by number, which nothing may change; expected "
          "normalize = \"auto\" or category_encoding = \"one_hot\"",
          options.Where(measured              ? "normalize"
                        : options.Has("mean") ? "mean"
                                              : "deviation"));
}

// Whether the format would rescale numbers in a second pass over the files.
bool CanRescale(const Request& request, const ReadFiles& files) {
  const auto all_reopen = [](const auto& paths) {
    return std::all_of(paths.begin(), paths.end(), CanReopen);
  };
  return !request.format.synthetic && files.rescaling.origin.empty() && all_reopen(files.train) &&
         all_reopen(files.test);
}

void CheckValidation(const std::string& where, const DataInfo& read, const DataInfo& train) {
  Require(read.input == train.input, "{}: examples are {}; the training data's are {}", where,
          read.input.Text(), train.input.Text());
  Require(read.regression == train.regression, "{}: the files hold {}; the training data hold {}",
          where, read.LabelKind(), train.LabelKind());
  Require(read.outputs == train.outputs, "{}: {} {}; the training data have {}", where,
          read.outputs, read.LabelKind(), train.outputs);
}

// The validation files of a job, read like the training data. `notes` gets what they tell.
std::shared_ptr<const Reader> OpenValidation(const Request& request, const ReadFiles& files,
                                             const DataInfo& info,
                                             std::vector<std::string>& notes) {
  ReadFiles validation{.test = PathsOf(request.options, "validation"),
                       .like = &info,
                       .rescaling = files.rescaling,
                       .open = files.open,
                       .memory_limit = files.memory_limit};
  LoadedData loaded = request.format.load(request.options, validation);
  CheckValidation(request.options.Where("validation"), loaded.info, info);
  notes.insert(notes.end(), loaded.notes.begin(), loaded.notes.end());
  DataInfo like = info;
  like.labelled = loaded.info.labelled;
  like.normalization.rescaling = loaded.info.normalization.rescaling;  // what the format has done
  return std::make_unique<MemoryReader>(like, std::move(loaded.test));
}

// The normalization of other data, of which the format has done a part now.
Normalization AsStarted(const DataInfo& start, const DataInfo& info) {
  Normalization normalization = start.normalization;
  normalization.rescaling = info.normalization.rescaling;
  return normalization;
}

// The data that the model to start from learned from; empty: there is none.
DataInfo StartOf(const Options& options) {
  return options.Has("start") ? InfoFromValue(options.Raw("start")) : DataInfo();
}

DataSets SetsOf(LoadedData loaded, const Request& request, const ReadFiles& files, uint64_t seed) {
  const Options& options = request.options;
  CheckFeatures(options, loaded.info);
  CheckEncodings(options, loaded.info);
  CheckClasses(loaded);
  CheckShares(options, loaded.test.size > 0, loaded.validation.size > 0);
  const bool as_started = files.features && files.features->sparse == loaded.info.sparse &&
                          files.features->input == loaded.info.input;
  loaded.info.normalization = as_started ? AsStarted(*files.features, loaded.info)
                                         : ChosenNormalization(options, loaded.info);
  DataSets sets;
  sets.notes = std::move(loaded.notes);
  sets.training_files = ChecksumOf(loaded.info, loaded.train);
  sets.test_files = ChecksumOf(loaded.info, loaded.test);
  const bool rescales = loaded.train.bytes.empty() && CanRescale(request, files);
  const auto classes = ClassesToSplit(options, loaded.info, loaded.train);
  auto all = std::make_shared<MemoryReader>(loaded.info, std::move(loaded.train));
  Split split = SplitExamples(options, all->Size(), seed, classes);
  const auto [normalization, needed] =
      as_started
          ? MeasuredChannels{all->Info().normalization, files.features->normalization.rescaling}
          : Measure(options, all, split, loaded.table);
  if (rescales && !needed.origin.empty()) {
    all.reset();
    loaded.test = MemoryData();
    ReadFiles again = files;
    again.rescaling = needed;
    if (!loaded.info.encodings.empty()) again.like = &loaded.info;
    LoadedData rescaled = request.format.load(options, again);
    rescaled.notes = std::move(sets.notes);
    return SetsOf(std::move(rescaled), request, again, seed);
  }
  all->SetNormalization(normalization);
  if (loaded.info.regression && loaded.info.target_mean.empty()) all->MeasureTargets(split.train);
  if (loaded.test.size > 0) {
    loaded.info = all->Info();
    sets.test = std::make_unique<MemoryReader>(loaded.info, std::move(loaded.test));
  } else if (!split.test.empty()) {
    sets.test = Subset(all, std::move(split.test));
  }
  if (loaded.validation.size > 0)
    sets.validation = std::make_unique<MemoryReader>(all->Info(), std::move(loaded.validation));
  if (!split.validation.empty()) sets.validation = Subset(all, std::move(split.validation));
  if (options.Has("validation"))
    sets.validation = OpenValidation(request, files, all->Info(), sets.notes);
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
  const DataInfo start = StartOf(options);
  const bool table = request.format.kind == FormatKind::kTable;  // reads the start's features
  const ReadFiles files{.train = PathsOf(options, "train"),
                        .test = PathsOf(options, "test"),
                        .features = options.Has("start") ? &start : nullptr,
                        .rescaling = table ? start.normalization.rescaling : Rescaling(),
                        .memory_limit = ArrayLimit(options)};
  CheckFiles(request, files);
  CheckShares(options, !files.test.empty(), /*has_validation=*/false);
  return OpenFiles(request, files, seed);
}

DataSets OpenMemory(const Value& data_section, LoadedData loaded, uint64_t seed) {
  const Request request = CheckSection(data_section);
  CheckFiles(request, {.train = PathsOf(request.options, "train")});
  const DataInfo start = StartOf(request.options);
  return SetsOf(std::move(loaded), request,
                {.features = request.options.Has("start") ? &start : nullptr}, seed);
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
  const bool may_hold_test = request.format.holds_splits;
  if (files.test.empty()) files.test = PathsOf(options, share && !may_hold_test ? "train" : "test");
  if (files.test.empty() && may_hold_test) files.train = PathsOf(options, "train");
  Require(!files.test.empty() || !files.train.empty() || request.format.synthetic,
          "the run has no test data: its job sets neither data.test nor data.test_share; expected "
          "a file to read");
  LoadedData loaded = request.format.load(options, files);
  Require(share || files.train.empty() || loaded.test.size > 0, "the run has no test data: {}",
          "its job sets neither data.test nor data.test_share, and its training images have no "
          "folder test; expected a file to read");
  if (like.notes) *like.notes = std::move(loaded.notes);
  const DataInfo& read = loaded.info;
  Require(read.input == like.like.input, "{}: examples are {}; the model expects {}",
          files.test.empty() ? options.section() : files.test.front(), read.input.Text(),
          like.like.input.Text());
  Require(read.regression == like.like.regression,
          "format '{}' reads {}, and the model predicts {}", request.format.name, read.LabelKind(),
          like.like.LabelKind());
  loaded.info.normalization = AsStarted(like.like, loaded.info);
  MemoryData& data =
      share && (request.format.synthetic || may_hold_test) ? loaded.train : loaded.test;
  const auto classes = share ? ClassesToSplit(options, loaded.info, data) : std::vector<int32_t>();
  auto all = std::make_unique<MemoryReader>(loaded.info, std::move(data));
  if (!share) return all;
  const std::shared_ptr<const Reader> source = std::move(all);
  return Subset(source, SplitExamples(options, source->Size(), like.seed, classes).test);
}

}  // namespace yoke
