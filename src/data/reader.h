// Reader: examples of a data set by number; wrappers around readers give shares, normalization, augmentation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "tensor/batch.h"

namespace yoke {

/// How raw input becomes what the model sees: (value * scale - mean[c]) / deviation[c]. Travels in checkpoints.
struct Normalization {
  double scale = 1;               ///< 1/255 for image bytes.
  std::vector<double> mean;       ///< By channel; empty: 0.
  std::vector<double> deviation;  ///< By channel; empty: 1.
};

/// What is known of a data set before its first example is asked for.
struct DataInfo {
  Shape input;          ///< One example: {channels, height, width} or {features}.
  bool sparse = false;
  bool multi_label = false;
  int64_t outputs = 0;  ///< Classes or labels.
  /// Classes as the data names them, by index ("-1", "3", "cat"); empty for multi-label data, whose labels are their numbers.
  std::vector<std::string> label_names;
  bool labelled = true;         ///< False for input without labels (predict).
  Normalization normalization;
};

/// What to read: example numbers, and the key of the draws of augmentation.
struct ReadRequest {
  std::span<const int64_t> examples;
  uint64_t seed = 0;
  int64_t epoch = 0;
};

/// Random access to examples; all methods may be called by several threads at once.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual const DataInfo& Info() const = 0;
  virtual int64_t Size() const = 0;
  /// Fills the batch (its storage is reused and only grows). Batch::examples are the numbers asked for.
  virtual void Read(const ReadRequest& request, Batch& batch) const = 0;
};

/// What a format's reader is told.
struct ReadFiles {
  std::vector<std::string> paths;
  const DataInfo* like = nullptr;  ///< Use these classes, features, shape and normalization (test data after training data, predict);
                                   ///< null: find out. A class or feature outside is an error with file and line.
  bool labels_optional = false;    ///< predict: input without labels is fine where the format can tell.
  uint64_t seed = 1;
};

/// An entry of the list of formats (src/data/formats.def).
struct FormatEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [data] that belong to this format.
  bool synthetic = false;           ///< Makes its data from options; `paths` is then {"train"} or {"test"}.
  std::unique_ptr<Reader> (*open)(const Options& options, const ReadFiles& files);
};
const std::vector<FormatEntry>& formats();

/// The data sets of a job.
struct DataSets {
  std::unique_ptr<Reader> train;
  std::unique_ptr<Reader> validation;  ///< Null unless `validation_share` is set.
  std::unique_ptr<Reader> test;        ///< Null when the job names no test data.
};

/// The keys of [data] that every format has: format, train, test, test_share, validation_share, features, normalize, augment...
const std::vector<OptionSpec>& common_data_options();

/// Opens what `[data]` asks for; paths are already absolute. Throws UserError with file and line.
DataSets OpenData(const Value& data_section, uint64_t seed);

/// Opens other files as the job's test data would be (eval FILE, predict FILE): `like` comes from a checkpoint.
std::unique_ptr<Reader> OpenLike(const Value& data_section, const std::vector<std::string>& paths,
                                 const DataInfo& like, bool labels_optional);

/// A reader of some examples of another, which it owns together with its siblings.
std::unique_ptr<Reader> Subset(std::shared_ptr<const Reader> source, std::vector<int64_t> examples);

}  // namespace yoke
