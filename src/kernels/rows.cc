// Rows: plain loops, a row a thread; all the work is waiting for memory.
#include "kernels/rows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/fetch_ahead.h"

namespace yoke {
namespace {

constexpr int64_t kParallelElements = 1 << 14;
constexpr int64_t kAhead = 4;  // rows fetched before they are needed

template <typename To, typename From>
To Converted(From x) {
  if constexpr (std::is_same_v<From, To>)
    return x;
  else
    return static_cast<To>(static_cast<float>(x));
}

template <typename From, typename T>
void GatherRow(const RowGather& g, const From* from, T* to) {
  const auto wanted = static_cast<int64_t>(g.columns.empty() ? g.width : g.columns.size());
  if (g.columns.empty())
    for (int64_t i = 0; i < wanted; ++i) to[i] = Converted<T>(from[i]);
  else
    for (int64_t i = 0; i < wanted; ++i) to[i] = Converted<T>(from[g.columns[i]]);
  std::fill(to + wanted, to + g.padded_columns, T(0.0F));
}

template <typename From, typename T>
void Gather(const RowGather& g) {
  const auto rows = static_cast<int64_t>(g.rows.size());
  const From* table = static_cast<const From*>(g.table);
  T* block = static_cast<T*>(g.block);
#pragma omp parallel for schedule(static) if (rows * g.padded_columns > kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    if (r + kAhead < rows) FetchAhead(table + g.rows[r + kAhead] * g.width, g.width);
    GatherRow(g, table + g.rows[r] * g.width, block + r * g.padded_columns);
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
  ListPlaces(blocks);
  FindRuns(places_, ids, starts_);
  const auto rows = static_cast<int64_t>(ids.size());
  // Room for later steps, which differ little: growing would keep twice as much.
  if (std::ssize(values) == 0) values.reserve(rows * width / 4 * 5);
  values.resize(rows * width);
#pragma omp parallel for schedule(static) if (rows * width > kParallelElements)
  for (int64_t r = 0; r < rows; ++r) SumRow(blocks, r, width, values.data() + r * width);
}

void RowMerge::ListPlaces(std::span<const RowBlock> blocks) {
  places_.clear();
  int32_t largest = 0;
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t r = 0; r < blocks[b].rows.size(); ++r) {
      const int32_t id = blocks[b].rows[r];
      places_.push_back({id, static_cast<int32_t>(b), static_cast<int32_t>(r)});
      largest = std::max(largest, id);
    }
  SortById(places_, scratch_, int64_t{largest} + 1);
}

void RowMerge::SumRow(std::span<const RowBlock> blocks, int64_t first, int64_t width,
                      float* to) const {
  for (int64_t k = starts_[first]; k < starts_[first + 1]; ++k) {
    const RowBlock& block = blocks[places_[k].block];
    const float* from = block.values + places_[k].row * block.stride;
    if (block.columns.empty() && k == starts_[first]) {
      std::copy_n(from, width, to);
      continue;
    }
    if (k == starts_[first]) std::fill_n(to, width, 0.0F);
    if (block.columns.empty())
      for (int64_t i = 0; i < width; ++i) to[i] += from[i];
    else
      for (size_t i = 0; i < block.columns.size(); ++i) to[block.columns[i]] += from[i];
  }
}

}  // namespace yoke
