// Examples: arrays of a program as data for training, evaluation and prediction. Arrays are used
// where they are: their owner lives as long as they are used. Null: the caller keeps them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/memory_reader.h"
#include "tensor/types.h"

namespace yoke {

using ArrayOwner = std::shared_ptr<const void>;

/// Rows in CSR form: row r has the entries offsets[r] to offsets[r + 1].
struct CsrRows {
  std::span<const int64_t> offsets;  ///< rows + 1
  std::span<const int32_t> ids;      ///< Ascending in a row.
  std::span<const float> values;     ///< Of features; labels have none.
  int64_t width = 0;                 ///< Ids are below it.
  ArrayOwner owner;
};

/// The examples of one set. Each function throws UserError for arrays that are no examples: the
/// sentence names the first bad row.
class Examples {
 public:
  /// [examples, axes of `example`...] of numbers, which must be finite, or of bytes.
  Examples(std::span<const float> numbers, const Shape& example, const ArrayOwner& owner);
  Examples(std::span<const uint8_t> bytes, const Shape& example, const ArrayOwner& owner);
  /// Rows of features.
  explicit Examples(const CsrRows& rows);
  /// None yet. Those that Append copies lie in memory up to so many bytes an array, beyond in a
  /// temporary file.
  explicit Examples(int64_t memory_limit) : data_(memory_limit) {}

  /// Copies the examples of another, without labels, behind these. Throws UserError if they are of
  /// another kind than those before.
  void Append(const Examples& more);

  /// One class each, as indices into `names`.
  void SetClasses(std::span<const int32_t> classes, std::vector<std::string> names,
                  const ArrayOwner& owner);
  /// A set of labels each.
  void SetLabels(const CsrRows& labels);
  /// Numbers to predict: [examples, outputs].
  void SetTargets(std::span<const double> targets, int64_t outputs, const ArrayOwner& owner);
  /// The unit by which training normalizes targets, a number an output; by default it is measured.
  void SetTargetUnit(std::vector<double> mean, std::vector<double> deviation);
  /// How much each example counts in training: 0 or more.
  void SetWeights(std::span<const float> weights, const ArrayOwner& owner);

  int64_t size() const { return data_.size; }
  bool is_bytes() const { return !data_.bytes.empty(); }
  const DataInfo& info() const { return info_; }
  /// The examples, which leave this object.
  MemoryData Take() { return std::move(data_); }

 private:
  DataInfo info_;
  MemoryData data_;
};

/// Training data for OpenMemory, and test data unless they are null. Bytes with three axes are
/// images, whose values become value/255. Throws UserError if the two are of different kinds.
LoadedData LoadedFrom(Examples train, Examples* test);

/// A reader of examples for a model of data like `like`, which normalizes them. Dense examples may
/// have other axes of as many elements. Throws UserError where the model does not take them.
std::unique_ptr<Reader> ReaderOf(Examples examples, const DataInfo& like);

}  // namespace yoke
