// Rows: plain loops, a row a thread; all the work is waiting for memory.
#include "kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/algorithms.h"
#include "kernels/instructions.h"

namespace yoke {
namespace {

constexpr int64_t kParallelElements = 1 << 14;
constexpr int64_t kAhead = 4;     // rows fetched before they are needed
constexpr int64_t kFindRow = 16;  // elements that could be added while a row is found

template <typename To, typename From>
[[gnu::always_inline]] inline To Converted(From x) {
  if constexpr (std::is_same_v<From, To>)
    return x;
  else
    return static_cast<To>(static_cast<float>(x));
}

template <typename From, typename T>
[[gnu::always_inline]] inline void GatherRow(const RowGather& g, const From* from, T* to) {
  const auto wanted = static_cast<int64_t>(g.columns.empty() ? g.width : g.columns.size());
  if (g.columns.empty())
    for (int64_t i = 0; i < wanted; ++i) to[i] = Converted<T>(from[i]);
  else
    for (int64_t i = 0; i < wanted; ++i) to[i] = Converted<T>(from[g.columns[i]]);
  std::fill(to + wanted, to + g.padded_columns, T(0.0F));
}

template <typename From, typename T>
void GatherRowAvx2(const RowGather& g, const From* from, T* to) {
  GatherRow(g, from, to);
}

template <typename From, typename T>
YOKE_AVX512 void GatherRowAvx512(const RowGather& g, const From* from, T* to) {
  GatherRow(g, from, to);
}

template <typename From, typename T>
void Gather(const RowGather& g) {
  const auto gather_row = cpu::HasAvx512() ? GatherRowAvx512<From, T> : GatherRowAvx2<From, T>;
  const auto rows = static_cast<int64_t>(g.rows.size());
  const From* table = static_cast<const From*>(g.table);
  T* block = static_cast<T*>(g.block);
#pragma omp parallel for schedule(static) if (rows * g.padded_columns > kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    if (r + kAhead < rows) FetchAhead(table + g.rows[r + kAhead] * g.width, g.width);
    gather_row(g, table + g.rows[r] * g.width, block + r * g.padded_columns);
  }
  std::fill(block + rows * g.padded_columns, block + g.padded_rows * g.padded_columns, T(0.0F));
}

}  // namespace

void GatherRows(const RowGather& gather) {
  const bool bf16 = gather.type == DType::kBf16;
  if (gather.table_type == DType::kBf16)
    (bf16 ? Gather<Bf16, Bf16> : Gather<Bf16, float>)(gather);
  else
    (bf16 ? Gather<float, Bf16> : Gather<float, float>)(gather);
}

void RowMerge::Run(std::span<const RowBlock> blocks, int64_t width, std::vector<int32_t>& ids,
                   std::vector<float>& values) {
  Match(blocks, ids);
  Sum(blocks, width, values);
}

void RowMerge::Match(std::span<const RowBlock> blocks, std::vector<int32_t>& ids) {
  ListPlaces(blocks);
  FindRuns(places_, ids, starts_);
}

/// Some rows are in many blocks: threads share the places, not the rows.
void RowMerge::Sum(std::span<const RowBlock> blocks, int64_t width,
                   std::vector<float>& values) const {
  const int64_t rows = std::ssize(starts_) - 1, places = std::ssize(places_);
  ResizeWithRoom(values, rows * width);
  const int64_t parts = places * (width + kFindRow) > kParallelElements ? KernelThreads() : 1;
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t r = RowAt(places * part / parts), end = RowAt(places * (part + 1) / parts);
         r < end; ++r)
      SumRow(blocks, r, width, values.data() + r * width);
}

int64_t RowMerge::RowAt(int64_t place) const {
  return std::lower_bound(starts_.begin(), starts_.end(), place) - starts_.begin();
}

void RowMerge::ListPlaces(std::span<const RowBlock> blocks) {
  firsts_.assign(1, 0);
  for (const RowBlock& block : blocks) firsts_.push_back(firsts_.back() + std::ssize(block.rows));
  ResizeWithRoom(places_, firsts_.back());
  int32_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max        \
                                                    : largest) \
    num_threads(EntryParts(firsts_.back()).count())
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t r = 0; r < blocks[b].rows.size(); ++r) {
      const int32_t id = blocks[b].rows[r];
      places_[firsts_[b] + r] = {id, static_cast<int32_t>(b), static_cast<int32_t>(r)};
      largest = std::max(largest, id);
    }
  SortById(places_, scratch_, int64_t{largest} + 1);
}

void RowMerge::SumRow(std::span<const RowBlock> blocks, int64_t row, int64_t width,
                      float* to) const {
  for (int64_t k = starts_[row]; k < starts_[row + 1]; ++k) {
    const RowBlock& block = blocks[places_[k].block];
    const float* from = block.values + places_[k].row * block.stride;
    if (block.columns.empty() && k == starts_[row]) {
      std::copy_n(from, width, to);
      continue;
    }
    if (k == starts_[row]) std::fill_n(to, width, 0.0F);
    if (block.columns.empty())
      for (int64_t i = 0; i < width; ++i) to[i] += from[i];
    else
      for (size_t i = 0; i < block.columns.size(); ++i) to[block.columns[i]] += from[i];
  }
}

}  // namespace yoke
