// Rows: messages of touched rows, merged.
#include "strategy/rows.h"

#include <algorithm>
#include <utility>

#include "base/algorithms.h"
#include "kernels/vectors.h"
#include "strategy/packing.h"
#include "tensor/array.h"
#include "tensor/counting.h"

namespace yoke {
namespace {

constexpr int kRows = 0;

}  // namespace

std::vector<std::byte> PackRows(const RowGradient& rows, double weight) {
  std::vector<std::byte> message;
  AppendRows(message, rows, weight);
  return message;
}

void UnpackRows(std::span<const std::byte> message, int64_t width, RowGradient& rows) {
  Unpacker rest(message);
  rest.TakeRows(width, rows);
  rest.End();
}

RowExchange::RowExchange(const ParamLayout& layout) {
  const std::vector<Slice>& slices = layout.slices();
  for (size_t i = 0; i < slices.size(); ++i)
    if (slices[i].kind == SliceKind::kRowSparse)
      tables_.push_back({.slice = static_cast<int>(i), .width = slices[i].RowWidth()});
}

void RowExchange::Sum(const Communicator& world, double weight, Gradients& gradients) {
  for (const Table& table : tables_) {
    RowGradient& rows = gradients.rows(table.slice);
    Merge(world.AllGather(PackRows(rows, weight)), table, rows);
  }
}

void RowExchange::SumToFirst(const Communicator& world, double weight, Gradients& gradients) {
  for (const Table& table : tables_) {
    RowGradient& rows = gradients.rows(table.slice);
    if (world.rank() > 0) {
      world.Send(PackRows(rows, weight), 0, kRows);
      continue;
    }
    std::vector<std::vector<std::byte>> messages = {PackRows(rows, weight)};
    for (int rank = 1; rank < world.size(); ++rank)
      messages.push_back(world.Receive(rank, kRows).bytes);
    Merge(messages, table, rows);
  }
}

void RowExchange::Merge(std::span<const std::vector<std::byte>> messages, const Table& table,
                        RowGradient& sum) {
  theirs_.resize(messages.size());
  blocks_.clear();
  for (size_t i = 0; i < messages.size(); ++i) {
    UnpackRows(messages[i], table.width, theirs_[i]);
    blocks_.push_back(
        {.rows = theirs_[i].ids, .values = theirs_[i].values.data(), .stride = table.width});
  }
  merge_.Run(blocks_, table.width, sum.ids, sum.values);
}

RowStaging::RowStaging(const ParamLayout& layout, Device& device) : device_(device) {
  if (device.IsHost()) return;
  const Target here = {.device = &device.staging()},
               there = {.device = &device, .stream = &device.stream()};
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (layout.slices()[i].kind == SliceKind::kRowSparse)
      tables_.push_back({static_cast<int>(i), GrowingBuffer(here), GrowingBuffer(here),
                         GrowingBuffer(there), GrowingBuffer(there)});
}

void RowStaging::Read(Gradients& gradients) {
  if (tables_.empty()) return;
  const CountedAs scope("exchange");
  std::vector<float*> staged;
  for (Table& table : tables_) {
    const Array<const float> values = gradients.rows(table.slice).values_there;
    staged.push_back(table.here_values.Reserve<float>(values.count));
    StartCopy(OnHost(std::span(staged.back(), values.count)), values);
  }
  CurrentStream(device_).Wait();
  for (size_t t = 0; t < tables_.size(); ++t) {
    RowGradient& rows = gradients.rows(tables_[t].slice);
    ResizeWithRoom(rows.values, rows.values_there.count);
    std::copy_n(staged[t], rows.values_there.count, rows.values.data());
    rows.ClearThere();
  }
}

void RowStaging::Write(Gradients& gradients) {
  for (Table& table : tables_) {
    RowGradient& rows = gradients.rows(table.slice);
    const auto send = [&](const auto& from, GrowingBuffer& here, GrowingBuffer& there) {
      using Element = std::remove_cvref_t<decltype(from[0])>;
      const int64_t count = std::ssize(from);
      const Array<Element> to = {&device_, there.Reserve<Element>(count), count};
      auto* const staged = here.Reserve<Element>(count);
      std::copy_n(from.data(), count, staged);
      StartCopy(to, OnHost(std::span<Element>(staged, count)));
      return to;
    };
    rows.ids_there = send(rows.ids, table.here_ids, table.ids);
    rows.values_there = send(rows.values, table.here_values, table.values);
    rows.values.clear();
  }
}

RowSum::RowSum(int which, const ParamLayout& layout)
    : slice(which),
      name(layout.slices()[which].name),
      width(layout.slices()[which].RowWidth()),
      values(layout.slices()[which].Count()),
      touched(layout.slices()[which].shape[0]) {}

void RowSum::Add(const RowGradient& rows, float weight) {
  const auto n = static_cast<size_t>(width);
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    touched[rows.ids[i]] = 1;
    AddScaled(Values(values).subspan(rows.ids[i] * width, n), weight,
              ConstValues(rows.values).subspan(i * n, n));
  }
}

void RowSum::Move(RowGradient& rows, float weight) {
  rows.Clear();
  for (size_t id = 0; id < touched.size(); ++id) {
    if (touched[id] == 0) continue;
    const float* row = &values[id * width];
    rows.ids.push_back(static_cast<int32_t>(id));
    rows.values.insert(rows.values.end(), row, row + width);
  }
  Scale(rows.values, weight);
  Reset();
}

void RowSum::Reset() {
  std::ranges::fill(values, 0.0F);
  std::ranges::fill(touched, 0.0F);
}

}  // namespace yoke
