// Reader: examples of a data set by number; wrappers around readers give shares, normalization,
// augmentation.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "data/source.h"
#include "tensor/batch.h"

namespace yoke {

/// How raw input becomes what the model sees: (value * scale - mean[c]) / deviation[c]. Channel c
/// is the first axis of the input: colours of an image, features of a vector. Travels in
/// checkpoints.
struct Normalization {
  double scale = 1;                    ///< 1/255 for image bytes.
  std::vector<double> mean = {};       ///< By channel; empty: 0.
  std::vector<double> deviation = {};  ///< By channel; empty: 1.
};

/// What is known of a data set before its first example is asked for. All of it travels in
/// checkpoints.
struct DataInfo {
  Shape input;  ///< One example: {channels, height, width} or {features}.
  bool sparse = false;
  bool multi_label = false;
  int64_t outputs = 0;  ///< Classes or labels.
  /// Classes as the data names them, by index ("-1", "3", "cat"); empty for multi-label data, whose
  /// labels are their numbers.
  std::vector<std::string> label_names = {};
  bool labelled = true;     ///< False for input without labels (predict).
  int64_t first_index = 0;  ///< What the files call the first feature (LIBSVM: mostly 1).
  Normalization normalization = {};
};

/// DataInfo as a table and back: what a checkpoint keeps.
Value InfoAsValue(const DataInfo& info);
DataInfo InfoFromValue(const Value& table);

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
  /// Fills the batch (its storage is reused and only grows). Batch::examples are the numbers asked
  /// for.
  virtual void Read(const ReadRequest& request, Batch& batch) const = 0;
};

/// What a format is to load. The files of a set are read one after another as if they were one.
struct ReadFiles {
  std::vector<std::string>
      train;  ///< Absolute paths; both lists are empty for formats that make their data.
  std::vector<std::string> test;
  /// Classes, features, shape and normalization to use (predict, eval); null: find out, classes
  /// from the training files, features from all. A class or feature outside is an error with file
  /// and line.
  const DataInfo* like = nullptr;
  bool test_only = false;  ///< Formats that make their data need not make the training set.
  /// Predict: input without labels is fine where the format can tell, and so are unknown classes
  /// (the set is then not labelled).
  bool labels_optional = false;
  /// How a path becomes bytes (tests and fuzzers give memory).
  std::function<std::unique_ptr<ByteSource>(const std::string& path)> open = OpenSource;
  int64_t memory_limit = INT64_MAX;  ///< Bytes an array may hold in memory: for LoadedData.
};

struct LoadedData;  // memory_reader.h

/// An entry of the list of formats (src/data/formats.def).
struct FormatEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};  ///< Keys of [data] that belong to this format.
  bool synthetic = false;                ///< Makes its data from options; there are no files.
  /// Reads the files whole. `options` holds the format's keys and common_data_options(). Throws
  /// UserError naming the file, the line (or the byte) and what was expected.
  LoadedData (*load)(const Options& options, const ReadFiles& files) = nullptr;
};
const std::vector<FormatEntry>& formats();

/// Equal data have equal sums; ranks compare theirs.
struct DataChecksum {
  uint64_t labels = 0;  ///< Of all labels.
  uint64_t inputs = 0;  ///< Of some examples' input, as stored.
};

/// The data sets of a job.
struct DataSets {
  std::unique_ptr<Reader> train;
  std::unique_ptr<Reader> validation;  ///< Null unless `validation_share` is set.
  std::unique_ptr<Reader> test;        ///< Null when the job names no test data.
  std::vector<std::string> notes;      ///< Sentences about the data that a person should read.
  DataChecksum training_files;         ///< Before shares are split off.
  DataChecksum test_files;
};

/// The keys of [data] that every format has: format, train, test, test_share, validation_share,
/// features, normalize, augment...
const std::vector<OptionSpec>& common_data_options();

/// Opens what `[data]` asks for; paths are already absolute. Throws UserError with file and line.
DataSets OpenData(const Value& data_section, uint64_t seed);

/// Other data, read as a job's would be.
struct LikeRequest {
  std::vector<std::string> paths;  ///< Empty: the job's own test data (files, share or synthetic).
  const DataInfo& like;            ///< From a checkpoint.
  bool labels_optional = false;    ///< predict
  uint64_t seed = 1;               ///< The job's: draws the test share.
};

/// Opens data for eval and predict. Throws UserError as OpenData, and when a job without test data
/// names no file.
std::unique_ptr<Reader> OpenLike(const Value& data_section, const LikeRequest& request);

/// A reader of some examples of another, which it owns together with its siblings.
std::unique_ptr<Reader> Subset(std::shared_ptr<const Reader> source, std::vector<int64_t> examples);

}  // namespace yoke
