// Checksums of a data set: of all labels, and of a sample of the input, which is enough to notice
// another file, order or version.
#include "data/checksum.h"

#include <algorithm>
#include <string_view>

#include "data/xmc_binary.h"

namespace yoke {
namespace {

constexpr int64_t kRows = 64;

template <typename T>
void Add(LaneChecksum& sum, const GrowingArray<T>& array, int64_t begin, int64_t end) {
  sum.Add({reinterpret_cast<const char*>(array.data() + begin),
           static_cast<size_t>(end - begin) * sizeof(T)});
}

template <typename T>
void Add(LaneChecksum& sum, const GrowingArray<T>& array) {
  Add(sum, array, 0, array.size());
}

void AddSparseRow(LaneChecksum& sum, const SparseArrays& rows, int64_t row) {
  const int64_t begin = rows.offsets[row], end = rows.offsets[row + 1];
  Add(sum, rows.ids, begin, end);
  if (!rows.values.empty()) Add(sum, rows.values, begin, end);
}

void AddRow(LaneChecksum& sum, const DataInfo& info, const MemoryData& data, int64_t row) {
  const int64_t numbers = info.input.Count();
  if (info.sparse)
    AddSparseRow(sum, data.sparse, row);
  else if (!data.bytes.empty())
    Add(sum, data.bytes, row * numbers, (row + 1) * numbers);
  else
    Add(sum, data.numbers, row * numbers, (row + 1) * numbers);
}

}  // namespace

DataChecksum ChecksumOf(const DataInfo& info, const MemoryData& data) {
  LaneChecksum labels, inputs;
  Add(labels, data.classes);
  Add(labels, data.labels.offsets);
  Add(labels, data.labels.ids);
  const int64_t rows = std::min(data.size, kRows);
  for (int64_t i = 0; i < rows; ++i)
    AddRow(inputs, info, data, rows == 1 ? 0 : i * (data.size - 1) / (rows - 1));
  return {.labels = labels.Value(), .inputs = inputs.Value()};
}

}  // namespace yoke
