// Checksums of a data set: of all labels and inputs, about as fast as memory is read.
#include "data/memory_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/random.h"
#include "data/xmc_binary.h"

namespace yoke {
namespace {

constexpr int64_t kAll = int64_t{1} << 30;  ///< Larger inputs, in bytes, may be in a file.
constexpr int64_t kRows = 64;

/// A hash in eight lanes of 64-bit words. Each word is mixed in one-to-one: unlike sums, this
/// notices rows that change places at distances and with differences of high powers of two, which
/// columns of 0 and 1 in f32 have.
class LaneHash {
 public:
  /// Adds bytes; a last block of fewer than 64 is padded with zeros.
  void Add(std::string_view bytes) {
    for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) AddBlock(bytes.data());
    if (bytes.empty()) return;
    std::array<char, kBlock> last{};
    std::ranges::copy(bytes, last.begin());
    AddBlock(last.data());
  }
  uint64_t Value() const {
    uint64_t value = blocks_;
    for (const uint64_t lane : lanes_) value = Random::Mix(value ^ lane) + kOdd;
    return value;
  }

 private:
  static constexpr size_t kLanes = 8, kBlock = kLanes * sizeof(uint64_t);
  static constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ULL;

  void AddBlock(const char* bytes) {
    std::array<uint64_t, kLanes> words;
    std::memcpy(words.data(), bytes, kBlock);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t mixed = (lanes_[lane] ^ words[lane]) * kOdd;
      lanes_[lane] = mixed ^ (mixed >> 32);
    }
    ++blocks_;
  }

  std::array<uint64_t, kLanes> lanes_ = {1, 2, 3, 4, 5, 6, 7, 8};
  uint64_t blocks_ = 0;
};

template <typename Sum, typename T>
void Add(Sum& sum, const GrowingArray<T>& array, int64_t begin, int64_t end) {
  sum.Add({reinterpret_cast<const char*>(array.data() + begin),
           static_cast<size_t>(end - begin) * sizeof(T)});
}

template <typename Sum, typename T>
void Add(Sum& sum, const GrowingArray<T>& array) {
  Add(sum, array, 0, array.size());
}

void AddSparseRow(LaneHash& sum, const SparseArrays& rows, int64_t row) {
  const int64_t begin = rows.offsets[row], end = rows.offsets[row + 1];
  Add(sum, rows.ids, begin, end);
  if (!rows.values.empty()) Add(sum, rows.values, begin, end);
}

void AddRow(LaneHash& sum, const DataInfo& info, const MemoryData& data, int64_t row) {
  const int64_t elements = info.input.Count();
  if (info.sparse)
    AddSparseRow(sum, data.sparse, row);
  else if (!data.bytes.empty())
    Add(sum, data.bytes, row * elements, (row + 1) * elements);
  else
    Add(sum, data.floats, row * elements, (row + 1) * elements);
}

void AddRows(LaneHash& sum, const DataInfo& info, const MemoryData& data) {
  const int64_t rows = std::min(data.size, kRows);
  for (int64_t i = 0; i < rows; ++i)
    AddRow(sum, info, data, rows == 1 ? 0 : i * (data.size - 1) / (rows - 1));
}

void AddAll(LaneHash& sum, const MemoryData& data) {
  Add(sum, data.bytes);
  Add(sum, data.floats);
  Add(sum, data.sparse.offsets);
  Add(sum, data.sparse.ids);
  Add(sum, data.sparse.values);
}

template <typename T>
int64_t BytesOf(const GrowingArray<T>& array) {
  return array.size() * static_cast<int64_t>(sizeof(T));
}

int64_t InputBytes(const MemoryData& data) {
  return BytesOf(data.bytes) + BytesOf(data.floats) + BytesOf(data.sparse.offsets) +
         BytesOf(data.sparse.ids) + BytesOf(data.sparse.values);
}

}  // namespace

DataChecksum ChecksumOf(const DataInfo& info, const MemoryData& data) {
  LaneChecksum labels;
  LaneHash inputs;
  Add(labels, data.classes);
  Add(labels, data.labels.offsets);
  Add(labels, data.labels.ids);
  if (info.regression) Add(labels, data.targets);
  if (InputBytes(data) <= kAll)
    AddAll(inputs, data);
  else
    AddRows(inputs, info, data);
  return {.labels = labels.Value(), .inputs = inputs.Value()};
}

}  // namespace yoke
