// Packing: dense elements first, then rows.
#include "strategy/packing.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/vectors.h"

namespace yoke {

void AppendRows(std::vector<std::byte>& message, const RowGradient& rows, double weight) {
  const int32_t count[] = {static_cast<int32_t>(rows.ids.size())};
  Append(message, std::span<const int32_t>(count));
  Append(message, std::span<const int32_t>(rows.ids));
  if (weight == 1) return Append(message, std::span<const float>(rows.values));
  std::vector<float> values = rows.values;
  Scale(values, static_cast<float>(weight));
  Append(message, std::span<const float>(values));
}

Exchanged::Exchanged(const ParamLayout& layout, int head_slice, std::vector<int64_t> cuts)
    : layout_(&layout),
      slices_{.end = head_slice},
      dense_(layout.dense_size()),
      cuts_(std::move(cuts)) {
  if (head_slice < static_cast<int>(layout.slices().size()))
    dense_ = layout.slices()[head_slice].offset;
}

std::array<std::span<float>, 2> Exchanged::Of(std::span<float> values) const {
  return {values.first(dense_), values.subspan(layout_->dense_size())};
}

int64_t Exchanged::PartCount(int part) const {
  const int64_t begin = part == 0 ? 0 : cuts_[part - 1];
  return (part + 1 == parts() ? count() : cuts_[part]) - begin;
}

std::array<std::span<float>, 2> Exchanged::PartOf(std::span<float> values, int part) const {
  const auto [dense, rest] = Of(values);
  const int64_t begin = part == 0 ? 0 : cuts_[part - 1];
  if (part + 1 < parts()) return {dense.subspan(begin, cuts_[part] - begin), {}};
  // What lies side by side is one.
  if (dense.size() + rest.size() == values.size()) return {values.subspan(begin), {}};
  return {dense.subspan(begin), rest};
}

Exchanged Exchanged::UpTo(int64_t dense) const {
  Exchanged first = *this;
  first.dense_ = dense;
  first.cuts_.clear();
  return first;
}

void AppendGradient(std::vector<std::byte>& message, const ParamView& view,
                    const Exchanged& exchanged, Compressor& compressor) {
  const ParamLayout& layout = *view.layout;
  const int64_t begin = layout.statistics_begin();
  const std::span<const float> dense = view.gradients->dense().Host().first(exchanged.dense());
  if (compressor.kind() == Compression::kNone)
    Append(message, dense);
  else
    Append(message, std::span<const std::byte>(compressor.Encode(dense, 0)));
  Append(message, view.values.Host().subspan(begin));
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (layout.slices()[i].kind == SliceKind::kRowSparse)
      AppendRows(message, view.gradients->rows(static_cast<int>(i)));
}

std::span<const std::byte> Unpacker::Next(size_t bytes) {
  Check(bytes <= rest_.size(), "ranks disagree about the length of a message");
  const std::span<const std::byte> next = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return next;
}

void Unpacker::TakeRows(int64_t width, RowGradient& rows) {
  const auto count = Take<int32_t>();
  Check(count >= 0 && count * (1 + width) <= static_cast<int64_t>(rest_.size() / 4),
        "ranks disagree about the length of a message");
  rows.ids.resize(count);
  rows.values.resize(count * width);
  Take(std::span(rows.ids));
  Take(std::span(rows.values));
}

void Unpacker::TakeGradient(const Exchanged& exchanged, const Compressor& compressor,
                            Gradients& gradients, std::vector<float>& statistics) {
  const ParamLayout& layout = exchanged.layout();
  statistics.resize(layout.size() - layout.statistics_begin());
  const std::span<float> dense = gradients.dense().Host().first(exchanged.dense());
  if (compressor.kind() == Compression::kNone) {
    Take(dense);
  } else {
    std::ranges::fill(dense, 0.0F);
    compressor.AddTo(dense, Next(compressor.BytesOf(exchanged.dense())));
  }
  Take(std::span(statistics));
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (const Slice& slice = layout.slices()[i]; slice.kind == SliceKind::kRowSparse)
      TakeRows(slice.RowWidth(), gradients.rows(static_cast<int>(i)));
}

void Unpacker::End() const { Check(rest_.empty(), "ranks disagree about the length of a message"); }

}  // namespace yoke
