// SubBatch: windows of dense rows, copies of sparse ones and labels.
#include "node/sub_batch.h"

#include <algorithm>

#include "kernels/vectors.h"

namespace yoke {
namespace {

struct Range {
  int64_t begin, end;
};

/// Rows [begin, end) of rows for `size` examples; empty if `from` has another number of rows.
void TakeRows(const SparseStorage& from, int64_t size, Range range, SparseStorage& to) {
  to.Clear();
  to.width = from.width;
  to.values.clear();
  if (static_cast<int64_t>(from.offsets.size()) != size + 1) return to.offsets.clear();
  const auto [begin, end] = range;
  const int64_t first = from.offsets[begin], last = from.offsets[end];
  for (int64_t row = begin; row < end; ++row) to.offsets.push_back(from.offsets[row + 1] - first);
  to.ids.assign(from.ids.begin() + first, from.ids.begin() + last);
  if (!from.values.empty())
    to.values.assign(from.values.begin() + first, from.values.begin() + last);
}

template <typename T>
void TakeElements(const std::vector<T>& from, int64_t begin, int64_t end, std::vector<T>& to) {
  to.clear();
  if (static_cast<int64_t>(from.size()) >= end) to.assign(from.begin() + begin, from.begin() + end);
}

/// Copies everything except the input.
void TakeExamples(const Batch& from, int64_t begin, int64_t end, Batch& to) {
  to.size = end - begin;
  to.seed = from.seed;
  to.epoch = from.epoch;
  TakeElements(from.examples, begin, end, to.examples);
  TakeElements(from.classes, begin, end, to.classes);
  TakeElements(from.weights, begin, end, to.weights);
  const int64_t outputs = std::ssize(from.targets) / std::max<int64_t>(from.size, 1);
  TakeElements(from.targets, begin * outputs, end * outputs, to.targets);
  TakeRows(from.labels, from.size, {begin, end}, to.labels);
}

}  // namespace

void TakeLabels(const Batch& from, const Tensor& dense, Batch& to) {
  TakeExamples(from, 0, from.size, to);
  to.is_sparse = false;
  to.dense = dense;
}

void TakeSubBatch(const Batch& from, int64_t begin, int64_t end, Batch& to) {
  TakeExamples(from, begin, end, to);
  to.is_sparse = from.is_sparse;
  TakeRows(from.sparse, from.size, {begin, end}, to.sparse);
  to.dense = {};
  if (!from.dense.data) return;
  to.dense = {.shape = Shape(from.dense.shape.axes().subspan(1)).Batched(to.size),
              .type = from.dense.type,
              .data = from.dense.As<char>() + begin * from.dense.Bytes() / from.size,
              .layout = from.dense.layout};
  if (from.dense.type != DType::kU8) return;
  to.scales = from.scales;
  TakeElements(from.crops, begin, end, to.crops);
}

void PartRows::Weigh(const ParamLayout& layout, float fraction, Gradients& part) {
  for (int s = 0; s < std::ssize(layout.slices()); ++s) Scale(part.rows(s).values, fraction);
}

void PartRows::Sum(const ParamLayout& layout, std::span<const Gradients* const> parts,
                   Gradients& sum) {
  Sum(
      layout, static_cast<int>(layout.slices().size()), parts.size(),
      [&](size_t p, int s) { return BlockOf(layout, *parts[p], s); }, sum);
}

}  // namespace yoke
