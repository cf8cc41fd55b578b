// Rows: merges of sorted lists.
#include "strategy/rows.h"

#include <algorithm>
#include <utility>

#include "strategy/packing.h"

namespace yoke {
namespace {

void AppendRow(RowGradient& to, int32_t id, const float* values, int64_t width, float weight) {
  to.ids.push_back(id);
  for (int64_t i = 0; i < width; ++i) to.values.push_back(weight * values[i]);
}

}  // namespace

void AddRows(const RowGradient& rows, int64_t width, double weight, RowGradient& sum) {
  const RowGradient before = std::exchange(sum, {});
  sum.ids.reserve(before.ids.size() + rows.ids.size());
  sum.values.reserve(before.values.size() + rows.values.size());
  const auto scale = static_cast<float>(weight);
  for (size_t a = 0, b = 0; a < before.ids.size() || b < rows.ids.size();) {
    const bool old =
        b == rows.ids.size() || (a < before.ids.size() && before.ids[a] <= rows.ids[b]);
    const bool both = old && b < rows.ids.size() && before.ids[a] == rows.ids[b];
    if (old) {
      AppendRow(sum, before.ids[a], &before.values[a * width], width, 1);
      ++a;
    } else {
      AppendRow(sum, rows.ids[b], &rows.values[b * width], width, scale);
    }
    if (both)
      for (int64_t i = 0; i < width; ++i)
        sum.values[sum.values.size() - width + i] += scale * rows.values[b * width + i];
    if (both || !old) ++b;
  }
}

std::vector<std::byte> PackRows(const RowGradient& rows, double weight) {
  std::vector<std::byte> message;
  AppendRows(message, rows, weight);
  return message;
}

RowGradient UnpackRows(std::span<const std::byte> message, int64_t width) {
  Unpacker rest(message);
  RowGradient rows;
  rest.TakeRows(width, rows);
  rest.End();
  return rows;
}

void SumRows(const Communicator& world, int64_t width, double weight, RowGradient& rows) {
  const auto all = world.AllGather(PackRows(rows, weight));
  rows.Clear();
  for (const auto& bytes : all) AddRows(UnpackRows(bytes, width), width, 1, rows);
}

RowSum::RowSum(int which, const ParamLayout& layout)
    : slice(which),
      name(layout.slices()[which].name),
      width(layout.slices()[which].Count() / layout.slices()[which].shape[0]),
      values(layout.slices()[which].Count()),
      touched(layout.slices()[which].shape[0]) {}

void RowSum::Add(const RowGradient& rows, float weight) {
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    touched[rows.ids[i]] = 1;
    float* row = &values[rows.ids[i] * width];
    for (int64_t j = 0; j < width; ++j) row[j] += weight * rows.values[i * width + j];
  }
}

void RowSum::Move(RowGradient& rows, float weight) {
  rows.Clear();
  for (size_t id = 0; id < touched.size(); ++id) {
    if (std::exchange(touched[id], 0.0F) == 0) continue;
    float* row = &values[id * width];
    AppendRow(rows, static_cast<int32_t>(id), row, width, weight);
    std::fill_n(row, width, 0.0F);
  }
}

}  // namespace yoke
