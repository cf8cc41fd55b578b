// Sorts rows that are out of order, which is rare.
#include "data/sparse_row.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace yoke {
namespace {

void SortRow(int64_t begin, SparseArrays& rows) {
  std::vector<std::pair<int32_t, float>> pairs;
  for (int64_t i = begin; i < rows.ids.size(); ++i)
    pairs.emplace_back(rows.ids[i], rows.values.empty() ? 1.0F : rows.values[i]);
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    rows.ids[begin + static_cast<int64_t>(i)] = pairs[i].first;
    if (!rows.values.empty()) rows.values[begin + static_cast<int64_t>(i)] = pairs[i].second;
  }
}

}  // namespace

void EndSparseRow(const LineReader& lines, int64_t begin, SparseArrays& rows) {
  const auto ids = rows.ids.span().subspan(static_cast<size_t>(begin));
  if (!std::is_sorted(ids.begin(), ids.end())) SortRow(begin, rows);
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) lines.Fail("{} occurs twice; expected each id once a line", *twice);
  rows.EndRow();
}

}  // namespace yoke
