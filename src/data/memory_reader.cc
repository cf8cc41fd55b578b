// Gathers examples from plain arrays, in loops that the compiler vectorizes.
#include "data/memory_reader.h"
#include "data/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace yoke {
namespace {

template <typename T>
void Scale(const T* __restrict from, float* __restrict to, int64_t n, float factor, float offset) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * factor + offset;
}

template <typename T>
void ScaleEach(const T* __restrict from, float* __restrict to, std::span<const float> factors,
               const float* __restrict offsets) {
  const float* __restrict factor = factors.data();
  const auto n = static_cast<int64_t>(factors.size());
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * factor[i] + offsets[i];
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

}  // namespace

MemoryReader::MemoryReader(DataInfo info, MemoryData data)
    : info_(std::move(info)), data_(std::move(data)) {
  CheckLengths(info_, data_);
  SetNormalization(info_.normalization);
}

void MemoryReader::SetNormalization(const Normalization& normalization) {
  info_.normalization = normalization;
  const auto channels = static_cast<size_t>(info_.input[0]);
  const Rescaling& rescaling = normalization.rescaling;
  const bool each = normalization.mean.size() > 1 || normalization.deviation.size() > 1 ||
                    !rescaling.origin.empty();
  factor_.assign(each ? channels : 1, 1);
  offset_.assign(factor_.size(), 0);
  for (size_t c = 0; c < factor_.size(); ++c) {
    const double deviation = ByChannel(normalization.deviation, c, 1);
    const double unit = ByChannel(rescaling.unit, c, 1), scale = normalization.scale;
    const double shift =
        ByChannel(normalization.mean, c, 0) - ByChannel(rescaling.origin, c, 0) * scale;
    factor_[c] = static_cast<float>(scale * unit / deviation);
    offset_[c] = static_cast<float>(-shift / deviation);
  }
  plain_ = factor_.size() == 1 && factor_[0] == 1 && offset_[0] == 0;
}

template <typename T>
void MemoryReader::Convert(const T* from, float* to) const {
  const auto channels = static_cast<int64_t>(factor_.size());
  const int64_t area = info_.input.Count() / channels;
  if (area == 1 && channels > 1) return ScaleEach(from, to, std::span(factor_), offset_.data());
  for (int64_t c = 0; c < channels; ++c)
    Scale(from + c * area, to + c * area, area, factor_[c], offset_[c]);
}

void MemoryReader::ReadDense(std::span<const int64_t> examples, Batch& batch) const {
  batch.ResizeDense(info_.input);
  const int64_t count = info_.input.Count();
  auto* to = batch.dense.As<float>();
  for (const int64_t example : examples) {
    if (!data_.bytes.empty()) {
      Convert(data_.bytes.data() + example * count, to);
    } else if (plain_) {
      std::memcpy(to, data_.floats.data() + example * count, count * sizeof(float));
    } else {
      Convert(data_.floats.data() + example * count, to);
    }
    to += count;
  }
}

void MemoryReader::ReadSparse(std::span<const int64_t> examples, Batch& batch) const {
  batch.dense = {};
  batch.sparse.width = info_.input[0];
  GatherRows(data_.sparse, examples, batch.sparse);
  if (plain_) return;
  for (float& value : batch.sparse.values) value *= factor_[0];
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
    ReadDense(request.examples, batch);
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

void MemoryReader::MeasureTargets(std::span<const int64_t> examples) {
  const auto outputs = static_cast<size_t>(info_.outputs);
  const auto count = static_cast<double>(examples.size());
  std::vector<double> mean(outputs), squares(outputs);
  const auto sum = [&](auto term, std::vector<double>& to) {
    for (const int64_t example : examples)
      for (size_t k = 0; k < outputs; ++k)
        to[k] += term(data_.targets[example * info_.outputs + static_cast<int64_t>(k)], k) / count;
  };
  sum([](double target, size_t) { return target; }, mean);
  sum([&](double target, size_t k) { return (target - mean[k]) * (target - mean[k]); }, squares);
  info_.target_mean = mean;
  info_.target_deviation.clear();
  for (const double square : squares)
    info_.target_deviation.push_back(square > 0 ? std::sqrt(square) : 1);
}

}  // namespace yoke
