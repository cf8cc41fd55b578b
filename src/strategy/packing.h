// Packing: writes a gradient as one message, and reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "optim/rule.h"
#include "params/store.h"
#include "strategy/compress.h"

namespace yoke {

/// Appends plain values to a message.
template <typename T>
void Append(std::vector<std::byte>& message, std::span<const T> values) {
  const size_t before = message.size();
  message.resize(before + values.size_bytes());
  if (!values.empty()) std::memcpy(message.data() + before, values.data(), values.size_bytes());
}

/// The packed elements that are exchanged: all, or all except those of a served head, whose slices
/// are `head_slice` and all later ones. Values are sent in parts, which begin at the dense elements
/// 0 and `cuts`, in increasing order; the last one has all that is not dense too.
class Exchanged {
 public:
  explicit Exchanged(const ParamLayout& layout, int head_slice = SliceRange::kEnd,
                     std::vector<int64_t> cuts = {});

  const ParamLayout& layout() const { return *layout_; }
  SliceRange slices() const { return slices_; }
  int64_t dense() const { return dense_; }  ///< The dense elements are [0, dense).
  int64_t count() const { return dense_ + layout_->size() - layout_->dense_size(); }
  /// The dense elements, and those of rows and statistics.
  std::array<std::span<float>, 2> Of(std::span<float> values) const;

  int parts() const { return static_cast<int>(cuts_.size()) + 1; }
  int64_t PartCount(int part) const;  ///< Elements of a part.
  /// Those of a part, the dense ones first.
  std::array<std::span<float>, 2> PartOf(std::span<float> values, int part) const;
  /// These elements without the dense ones from `dense` on, in one part.
  Exchanged UpTo(int64_t dense) const;

 private:
  const ParamLayout* layout_;
  SliceRange slices_;
  int64_t dense_;
  std::vector<int64_t> cuts_;
};

/// Appends touched rows: their number (32 bits), ids, and values times `weight`.
void AppendRows(std::vector<std::byte>& message, const RowGradient& rows, double weight = 1);

/// Appends the dense gradient as encoded by the compressor (for exchanged.dense() elements), the
/// running statistics in view.values, and the touched rows of each row-sparse slice.
void AppendGradient(std::vector<std::byte>& message, const ParamView& view,
                    const Exchanged& exchanged, Compressor& compressor);

/// Reads a message from front to end.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> message) : rest_(message) {}

  /// Throws Error if the message is too short: the ranks have different models.
  template <typename T>
  void Take(std::span<T> into) {
    const std::span<const std::byte> next = Next(into.size_bytes());
    if (!into.empty()) std::memcpy(into.data(), next.data(), next.size());
  }
  template <typename T>
  T Take() {
    T value;
    Take(std::span(&value, 1));
    return value;
  }
  /// Reads the result of AppendRows, with `width` elements per row.
  void TakeRows(int64_t width, RowGradient& rows);
  /// Reads the result of AppendGradient with such a compressor; resizes `statistics`.
  void TakeGradient(const Exchanged& exchanged, const Compressor& compressor, Gradients& gradients,
                    std::vector<float>& statistics);
  /// Throws Error if anything is left.
  void End() const;

 private:
  std::span<const std::byte> Next(size_t bytes);

  std::span<const std::byte> rest_;
};

}  // namespace yoke
