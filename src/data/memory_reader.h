// MemoryReader: a data set in plain arrays, read by example number. Every format is loaded into it,
// as are arrays that a program has.
#pragma once

#include "data/reader.h"
#include "data/storage.h"

namespace yoke {

/// Rows of (id, value) in CSR form: row r has the entries offsets[r] to offsets[r + 1].
struct SparseArrays {
  explicit SparseArrays(int64_t limit = INT64_MAX) : offsets(limit), ids(limit), values(limit) {
    offsets.push_back(0);
  }
  GrowingArray<int64_t> offsets;  ///< rows + 1
  GrowingArray<int32_t> ids;
  GrowingArray<float> values;  ///< Empty: every value is 1.

  int64_t rows() const { return offsets.size() - 1; }
  void EndRow() { offsets.push_back(ids.size()); }
};

/// The examples of one set. Exactly one of bytes, floats and sparse has the input (see DataInfo),
/// and one of classes, labels and targets has the targets (none: not labelled).
struct MemoryData {
  /// `limit` is the number of bytes that each array may hold in memory before it moves to a
  /// temporary file.
  explicit MemoryData(int64_t limit = INT64_MAX)
      : bytes(limit),
        floats(limit),
        sparse(limit),
        classes(limit),
        labels(limit),
        targets(limit),
        weights(limit) {}

  int64_t size = 0;                ///< Examples.
  GrowingArray<uint8_t> bytes;     ///< Dense: [size, axes of info.input...].
  GrowingArray<float> floats;      ///< Dense: [size, axes of info.input...].
  SparseArrays sparse;             ///< [size] rows of (feature, value), ids ascending.
  GrowingArray<int32_t> classes;   ///< [size], indices into info.label_names.
  std::vector<std::string> files;  ///< Empty, or the file of each example.
  SparseArrays labels;             ///< [size] rows of labels, values empty.
  GrowingArray<double> targets;    ///< [size, info.outputs], in the user's unit.
  GrowingArray<float> weights;     ///< [size], or empty: every example counts 1.
};

/// The result of loading a job's files. A set that was not requested has size 0.
struct LoadedData {
  explicit LoadedData(int64_t limit = INT64_MAX) : train(limit), validation(limit), test(limit) {}
  DataInfo info;  ///< For both sets; `labelled` says whether examples have classes or labels.
  MemoryData train;
  MemoryData validation;  ///< Of training files that hold validation examples, too.
  MemoryData test;
  std::vector<std::string> notes;  ///< Sentences for the user.
  /// Numbers are of columns with units of their own, so normalize = "auto" standardizes them.
  bool table = false;
};

class MemoryReader : public Reader {
 public:
  /// Checks that the arrays' lengths agree with `info`.
  MemoryReader(DataInfo info, MemoryData data);

  const DataInfo& Info() const override { return info_; }
  int64_t Size() const override { return data_.size; }
  void Read(const ReadRequest& request, Batch& batch) const override;
  std::string FileOf(int64_t example) const override {
    return data_.files.empty() ? "" : data_.files[static_cast<size_t>(example)];
  }

  /// Replaces Info().normalization; not thread-safe. Sparse input uses only the scale.
  void SetNormalization(const Normalization& normalization);
  /// Of a regression: measures mean and standard deviation of the targets of these examples, by
  /// which all are normalized. A constant target gets deviation 1. Not thread-safe.
  void MeasureTargets(std::span<const int64_t> examples);

 private:
  void ReadDense(const ReadRequest& request, Batch& batch) const;
  void ReadSparse(std::span<const int64_t> examples, Batch& batch) const;
  void ReadLabels(std::span<const int64_t> examples, Batch& batch) const;
  void ReadTargets(std::span<const int64_t> examples, Batch& batch) const;
  template <typename T>
  void Normalize(const T* stored, const ReadRequest& request, Batch& batch) const;

  DataInfo info_;
  MemoryData data_;
  std::vector<float> scales_;  ///< ChannelScales::values.
  bool plain_ = true;          ///< Every factor is 1 and every offset 0.
};

/// Sums all labels and all input as they are stored; of input above 1 GiB, which may be in a file,
/// that of 64 examples spread over the set. The choice depends on the data alone.
DataChecksum ChecksumOf(const DataInfo& info, const MemoryData& data);

/// The same as OpenData for arrays: shares, normalization and augmentation as `[data]` says. Throws
/// UserError for data that cannot be trained on.
DataSets OpenMemory(const Value& data_section, LoadedData loaded, uint64_t seed);

}  // namespace yoke
