// Packing: a gradient as one message, and reading one.
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

/// Appends plain numbers to a message.
template <typename T>
void Append(std::vector<std::byte>& message, std::span<const T> values) {
  const size_t before = message.size();
  message.resize(before + values.size_bytes());
  if (!values.empty()) std::memcpy(message.data() + before, values.data(), values.size_bytes());
}

/// Which of a model's packed numbers travel: all, or all but those of a head that is served, whose
/// slices are `head_slice` and all behind it.
class Exchanged {
 public:
  explicit Exchanged(const ParamLayout& layout, int head_slice = SliceRange::kEnd);

  const ParamLayout& layout() const { return *layout_; }
  SliceRange slices() const { return slices_; }
  int64_t dense() const { return dense_; }  ///< The dense numbers are [0, dense).
  int64_t count() const { return dense_ + layout_->size() - layout_->dense_size(); }
  /// The dense numbers, and those of rows and statistics.
  std::array<std::span<float>, 2> Of(float* values) const;

 private:
  const ParamLayout* layout_;
  SliceRange slices_;
  int64_t dense_;
};

/// Appends touched rows: how many (a 32-bit number), ids, values times `weight`.
void AppendRows(std::vector<std::byte>& message, const RowGradient& rows, double weight = 1);

/// Appends the dense gradient as the compressor (for exchanged.dense() numbers) encodes it, the
/// running statistics that lie in view.values, and of each row-sparse slice the touched rows.
void AppendGradient(std::vector<std::byte>& message, const ParamView& view,
                    const Exchanged& exchanged, Compressor& compressor);

/// Takes a message apart from front to end.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> message) : rest_(message) {}

  /// Throws Error where less is left: ranks disagree about the model.
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
  /// What AppendRows appended, `width` numbers a row.
  void TakeRows(int64_t width, RowGradient& rows);
  /// What AppendGradient appended by such a compressor; `statistics` gets its length.
  void TakeGradient(const Exchanged& exchanged, const Compressor& compressor, Gradients& gradients,
                    std::vector<float>& statistics);
  /// Throws Error where anything is left.
  void End() const;

 private:
  std::span<const std::byte> Next(size_t bytes);

  std::span<const std::byte> rest_;
};

}  // namespace yoke
