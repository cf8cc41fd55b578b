// Reader: the examples of a data set by number. Readers that wrap others provide subsets,
// normalization and augmentation.
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

/// By channel: a format stores a number as (number - origin) / unit, computed in f64, where f32
/// would lose what tells the numbers apart. Empty: as it is.
struct Rescaling {
  std::vector<double> origin = {};
  std::vector<double> unit = {};

  bool Changes(size_t channel) const {
    return channel < origin.size() && (origin[channel] != 0 || unit[channel] != 1);
  }
  float Apply(double number, size_t channel) const {
    return static_cast<float>((number - origin[channel]) / unit[channel]);
  }
};

/// Converts raw input to the model's input: (value * scale - mean[c]) / deviation[c]. Channel c is
/// the first axis of the input: colours of an image, features of a vector. Saved in checkpoints.
struct Normalization {
  double scale = 1;                    ///< 1/255 for image bytes.
  std::vector<double> mean = {};       ///< By channel; empty: 0.
  std::vector<double> deviation = {};  ///< By channel; empty: 1.
  Rescaling rescaling = {};            ///< The part of it that the format has done.
};

/// How a column of a table becomes features.
struct ColumnEncoding {
  /// Of text: one feature each, 1 for the cell's own; all are 0 for an unknown or missing one.
  /// Empty: the column holds numbers, or words.
  std::vector<std::string> categories = {};
  /// Of text: one feature in their place, the cell's category counted from 1, or 0.
  bool by_id = false;
  double fill = 0;         ///< Of numbers: stands for a missing one (the training data's mean).
  bool indicator = false;  ///< Of numbers: one more feature, 1 where it is missing.
  double deviation = 0;    ///< Of numbers beside words: the feature is (number - fill) / deviation.
  /// Of free text: a feature for each word, or for each hash of words; how often it occurs.
  std::vector<std::string> words = {};
  int64_t hashes = 0;

  bool IsText() const { return !categories.empty(); }
  bool IsWords() const { return hashes > 0 || !words.empty(); }
  int64_t Features() const {
    if (IsWords()) return hashes > 0 ? hashes : static_cast<int64_t>(words.size());
    if (by_id) return 1;
    return IsText() ? static_cast<int64_t>(categories.size()) : 1 + int64_t{indicator};
  }
};

/// Facts about a data set that are known before its first example is read. Saved in checkpoints.
struct DataInfo {
  Shape input;  ///< One example: {channels, height, width} or {features}.
  bool sparse = false;
  bool multi_label = false;
  bool regression = false;  ///< Each example has `outputs` numbers as targets.
  int64_t outputs = 0;      ///< Classes, labels or targets.
  /// Names of the classes in the data, by index ("-1", "3", "cat"), of the words of text, or of the
  /// targets; empty for other multi-label data, whose labels are numbers, and for targets without
  /// names.
  std::vector<std::string> label_names = {};
  /// Names of the feature columns and of the class or target in a table's header, which other files
  /// are matched by; empty if the training files have none.
  std::vector<std::string> columns = {};
  std::string label_column = {};
  /// By feature column; empty: each is one feature, and no number is missing.
  std::vector<ColumnEncoding> encodings = {};
  /// By target: the model learns (target - mean) / deviation. Empty: not measured yet.
  std::vector<double> target_mean = {}, target_deviation = {};
  bool labelled = true;     ///< False for input without labels (predict).
  int64_t first_index = 0;  ///< Id of the first feature in the files (LIBSVM: usually 1).
  Normalization normalization = {};

  /// What an example is to have: "classes", "labels" or "targets".
  const char* LabelKind() const { return yoke::LabelKind(regression, multi_label); }
};

/// Converts DataInfo to a table and back, for checkpoints.
Value InfoAsValue(const DataInfo& info);
DataInfo InfoFromValue(const Value& table);

/// The examples to read, and the key of augmentation's random draws.
struct ReadRequest {
  std::span<const int64_t> examples;
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool as_stored = false;                 ///< Input that is stored in bytes stays so: Batch::dense.
  std::span<const ImageCrop> crops = {};  ///< Batch::crops, if augmentation has drawn them.
};

/// Random access to examples. All methods are thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual const DataInfo& Info() const = 0;
  virtual int64_t Size() const = 0;
  /// Fills the batch, whose storage is reused and only grows. Batch::examples are the requested
  /// numbers.
  virtual void Read(const ReadRequest& request, Batch& batch) const = 0;
  /// The file that holds only this example (an image); "" if there is none or nobody asked for it.
  virtual std::string FileOf(int64_t /*example*/) const { return ""; }
};

/// The files that a format is to load. The files of a set are read one after another as if they
/// were one.
struct ReadFiles {
  std::vector<std::string> train;  ///< Absolute paths; both lists are empty for synthetic formats.
  std::vector<std::string> test;
  /// Classes, features, shape and normalization to use (predict, eval). Null: determine them,
  /// classes from the training files and features from all files. Otherwise an unknown class or
  /// feature is an error with file and line.
  const DataInfo* like = nullptr;
  /// The same of a table's features alone, when there is no `like`: those of the model that
  /// training starts from. Null: determine them.
  const DataInfo* features = nullptr;
  Rescaling rescaling = {};  ///< Of dense numbers; formats that ignore it say so in their info.
  bool test_only = false;    ///< Synthetic formats need not make the training set.
  /// For predict: input without labels is allowed if the format can detect it, and so are unknown
  /// classes (the set is then not labelled).
  bool labels_optional = false;
  /// Opens a path (tests and fuzzers use memory).
  std::function<std::unique_ptr<ByteSource>(const std::string& path)> open = OpenSource;
  int64_t memory_limit = INT64_MAX;  ///< Bytes that an array may hold in memory, for LoadedData.
};

struct LoadedData;  // memory_reader.h

/// What the examples of a format are.
enum class FormatKind : uint8_t {
  kSparse,  ///< Rows of features by number, or text as such.
  kTable,   ///< Columns with names and units of their own, one of which is the label.
  kArrays,  ///< A file's arrays of images or of a table's numbers.
  kImages,
  kProgram,  ///< What a program gives.
};

/// An entry of the list of formats (src/data/formats.def).
struct FormatEntry {
  std::string name;
  FormatKind kind = FormatKind::kSparse;
  std::string summary;
  std::vector<OptionSpec> options = {};  ///< Keys of [data] that belong to this format.
  bool synthetic = false;                ///< Makes its data from options, without files.
  bool holds_splits = false;             ///< Training files may hold test examples, too.
  /// Reads the files completely. `options` has the format's keys and common_data_options(). Throws
  /// UserError with the file, the line (or byte) and what was expected.
  LoadedData (*load)(const Options& options, const ReadFiles& files) = nullptr;
};
const std::vector<FormatEntry>& formats();
/// Whether `[data]` names a format of this kind.
bool IsOfKind(const Value& data_section, FormatKind kind);

/// Equal data have equal checksums, which the ranks compare.
struct DataChecksum {
  uint64_t labels = 0;  ///< Checksum of all labels.
  uint64_t inputs = 0;  ///< Checksum of the stored input.
};

/// The data sets of a job.
struct DataSets {
  std::shared_ptr<const Reader> train;
  std::shared_ptr<const Reader> validation;  ///< Null unless `validation_share` is set.
  std::shared_ptr<const Reader> test;        ///< Null if the job has no test data.
  std::vector<std::string> notes;            ///< Sentences about the data for the user.
  DataChecksum training_files;               ///< Before validation and test shares are split off.
  DataChecksum test_files;
};

/// The keys of [data] common to all formats: format, train, test, test_share, validation_share,
/// features, normalize, augment...
const std::vector<OptionSpec>& common_data_options();

/// Opens the data of `[data]`; paths are already absolute. Throws UserError with file and line.
DataSets OpenData(const Value& data_section, uint64_t seed);

/// A request for other data, to be read like a job's data.
struct LikeRequest {
  std::vector<std::string> paths;  ///< Empty: the job's own test data (files, share or synthetic).
  const DataInfo& like;            ///< From a checkpoint.
  bool labels_optional = false;    ///< predict
  uint64_t seed = 1;               ///< The job's seed, which draws the test share.
  std::vector<std::string>* notes = nullptr;  ///< Gets sentences about the data for the user.
};

/// Opens data for eval and predict. Throws UserError like OpenData, and if there are neither paths
/// nor test data in the job.
std::unique_ptr<Reader> OpenLike(const Value& data_section, const LikeRequest& request);

/// A reader of some examples of `source`, which several subsets can share.
std::unique_ptr<Reader> Subset(std::shared_ptr<const Reader> source, std::vector<int64_t> examples);

}  // namespace yoke
