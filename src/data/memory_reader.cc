// Gathers examples from plain arrays.
#include "data/memory_reader.h"
#include "data/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/normalize.h"

namespace yoke {
namespace {

/// Copies rows of `length` elements.
template <typename T>
void CopyRows(const T* from, std::span<const int64_t> rows, int64_t length, T* to) {
  for (const int64_t row : rows) to = std::copy_n(from + row * length, length, to);
}

void GatherRows(const SparseArrays& from, std::span<const int64_t> rows, SparseStorage& to) {
  to.Clear();
  for (const int64_t row : rows) {
    const int64_t begin = from.offsets[row], end = from.offsets[row + 1];
    to.ids.insert(to.ids.end(), from.ids.data() + begin, from.ids.data() + end);
    if (!from.values.empty())
      to.values.insert(to.values.end(), from.values.data() + begin, from.values.data() + end);
    to.offsets.push_back(static_cast<int64_t>(to.ids.size()));
  }
}

bool IsComplete(const SparseArrays& arrays, int64_t rows) {
  return arrays.rows() == rows && arrays.offsets[rows] == arrays.ids.size() &&
         (arrays.values.empty() || arrays.values.size() == arrays.ids.size());
}

void CheckLengths(const DataInfo& info, const MemoryData& data) {
  const int64_t elements = data.size * info.input.Count();
  if (info.sparse) {
    Check(IsComplete(data.sparse, data.size), "sparse rows do not match the number of examples");
  } else {
    Check(std::max(data.bytes.size(), data.floats.size()) == elements,
          "dense input does not match the number of examples");
  }
  Check(data.files.empty() || static_cast<int64_t>(data.files.size()) == data.size,
        "files do not match the number of examples");
  Check(data.weights.empty() || data.weights.size() == data.size,
        "weights do not match the number of examples");
  if (!info.labelled) return;
  if (info.regression) {
    Check(data.targets.size() == data.size * info.outputs,
          "targets do not match the number of examples");
  } else if (info.multi_label) {
    Check(IsComplete(data.labels, data.size), "label sets do not match the number of examples");
  } else {
    Check(data.classes.size() == data.size, "classes do not match the number of examples");
  }
}

// Targets that differ by rounding alone are constant: 1.
double DeviationOf(double mean, double variance) {
  constexpr double kRounding = 1e-12;
  return variance > kRounding * kRounding * mean * mean ? std::sqrt(variance) : 1;
}

}  // namespace

MemoryReader::MemoryReader(DataInfo info, MemoryData data)
    : info_(std::move(info)), data_(std::move(data)) {
  CheckLengths(info_, data_);
  SetNormalization(info_.normalization);
}

void MemoryReader::SetNormalization(const Normalization& normalization) {
  info_.normalization = normalization;
  const Rescaling& rescaling = normalization.rescaling;
  const bool each = normalization.mean.size() > 1 || normalization.deviation.size() > 1 ||
                    !rescaling.origin.empty();
  const size_t channels = each ? static_cast<size_t>(info_.input[0]) : 1;
  for (const auto* numbers :
       {&normalization.mean, &normalization.deviation, &rescaling.origin, &rescaling.unit})
    Require(numbers->size() <= 1 || numbers->size() == channels,
            "the data have {} channels to normalize, and numbers for {} are given", channels,
            numbers->size());
  scales_.assign(3 * channels, 0);
  for (size_t c = 0; c < channels; ++c) {
    const double deviation = ByChannel(normalization.deviation, c, 1);
    const double unit = ByChannel(rescaling.unit, c, 1), scale = normalization.scale;
    const double shift =
        ByChannel(normalization.mean, c, 0) - ByChannel(rescaling.origin, c, 0) * scale;
    const double black = -ByChannel(normalization.mean, c, 0) / deviation;
    scales_[c] = static_cast<float>(scale * unit / deviation);
    scales_[channels + c] = static_cast<float>(-shift / deviation);
    scales_[2 * channels + c] = static_cast<float>(black);
  }
  plain_ = channels == 1 && scales_[0] == 1 && scales_[1] == 0;
}

template <typename T>
void MemoryReader::Normalize(const T* stored, const ReadRequest& request, Batch& batch) const {
  const int64_t count = info_.input.Count();
  const ChannelScales scales = {std::ssize(scales_) / 3, scales_.data()};
  auto* to = batch.dense.As<float>();
  for (size_t i = 0; i < request.examples.size(); ++i, to += count)
    NormalizeExample(stored + request.examples[i] * count, info_.input, scales,
                     request.crops.empty() ? nullptr : &request.crops[i], to);
}

void MemoryReader::ReadDense(const ReadRequest& request, Batch& batch) const {
  const bool bytes = !data_.bytes.empty(), as_stored = bytes && request.as_stored;
  batch.ResizeDense(info_.input, as_stored ? DType::kU8 : DType::kF32);
  if (request.crops.empty()) batch.crops.clear();
  const int64_t count = info_.input.Count();
  if (as_stored) {
    batch.scales = scales_;
    CopyRows(data_.bytes.data(), request.examples, count, batch.dense.As<uint8_t>());
  } else if (bytes) {
    Normalize(data_.bytes.data(), request, batch);
  } else if (plain_ && request.crops.empty()) {
    CopyRows(data_.floats.data(), request.examples, count, batch.dense.As<float>());
  } else {
    Normalize(data_.floats.data(), request, batch);
  }
}

void MemoryReader::ReadSparse(std::span<const int64_t> examples, Batch& batch) const {
  batch.dense = {};
  batch.sparse.width = info_.input[0];
  GatherRows(data_.sparse, examples, batch.sparse);
  if (plain_) return;
  for (float& value : batch.sparse.values) value *= scales_[0];
}

void MemoryReader::Read(const ReadRequest& request, Batch& batch) const {
  for (const int64_t example : request.examples)
    Check(example >= 0 && example < data_.size, "an example was asked for that does not exist");
  batch.size = static_cast<int64_t>(request.examples.size());
  batch.seed = request.seed;
  batch.epoch = request.epoch;
  batch.examples.assign(request.examples.begin(), request.examples.end());
  batch.is_sparse = info_.sparse;
  if (info_.sparse) {
    ReadSparse(request.examples, batch);
  } else {
    ReadDense(request, batch);
  }
  ReadLabels(request.examples, batch);
}

void MemoryReader::ReadLabels(std::span<const int64_t> examples, Batch& batch) const {
  batch.classes.clear();
  batch.labels.Clear();
  batch.labels.width = info_.outputs;
  batch.targets.clear();
  batch.weights.clear();
  if (!info_.labelled) return;
  if (!data_.weights.empty())
    for (const int64_t example : examples) batch.weights.push_back(data_.weights[example]);
  if (info_.regression) return ReadTargets(examples, batch);
  if (info_.multi_label) return GatherRows(data_.labels, examples, batch.labels);
  for (const int64_t example : examples) batch.classes.push_back(data_.classes[example]);
}

void MemoryReader::ReadTargets(std::span<const int64_t> examples, Batch& batch) const {
  for (const int64_t example : examples)
    for (int64_t k = 0; k < info_.outputs; ++k) {
      const double target = data_.targets[example * info_.outputs + k];
      const auto at = static_cast<size_t>(k);
      batch.targets.push_back(static_cast<float>((target - ByChannel(info_.target_mean, at, 0)) /
                                                 ByChannel(info_.target_deviation, at, 1)));
    }
}

// Sums differences from the first target, so that a constant one has exactly its own mean.
void MemoryReader::MeasureTargets(std::span<const int64_t> examples) {
  const auto outputs = static_cast<size_t>(info_.outputs);
  const auto count = static_cast<double>(examples.size());
  const auto target = [&](int64_t example, size_t k) {
    return data_.targets[example * info_.outputs + static_cast<int64_t>(k)];
  };
  info_.target_mean.clear();
  info_.target_deviation.clear();
  for (size_t k = 0; k < outputs; ++k) {
    const double first = target(examples.front(), k);
    double shift = 0, variance = 0;
    for (const int64_t example : examples) shift += (target(example, k) - first) / count;
    const double mean = first + shift;
    for (const int64_t example : examples)
      variance += (target(example, k) - mean) * (target(example, k) - mean) / count;
    info_.target_mean.push_back(mean);
    info_.target_deviation.push_back(DeviationOf(mean, variance));
  }
}

}  // namespace yoke
