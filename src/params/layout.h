// ParamLayout: the position of each parameter in the packed buffers. One message exchanges a whole
// model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/algorithms.h"
#include "tensor/types.h"

namespace yoke {

enum class SliceKind : uint8_t {
  kDense,      ///< A value and a dense gradient.
  kRowSparse,  ///< [rows, width]; the gradient is a list of touched rows.
  kBuffer,     ///< Running statistics: averaged with the model, never differentiated.
};

/// A parameter that a layer requests.
struct ParamSpec {
  std::string name;  ///< Within the layer: "weight", "bias".
  Shape shape;
  SliceKind kind = SliceKind::kDense;
  std::string initializer = "zeros";
  int64_t fan_in = 1;  ///< For initializers that scale by fan-in or fan-out.
  int64_t fan_out = 1;
  bool keep_f32 = false;  ///< Stays f32 even in layers that compute in bf16.
};

/// One parameter in the packed layout.
struct Slice {
  std::string name;  ///< "layer.parameter"
  Shape shape;
  SliceKind kind = SliceKind::kDense;
  std::string initializer;
  int64_t fan_in = 1;
  int64_t fan_out = 1;
  bool keep_f32 = false;
  int64_t offset = 0;        ///< First place in the packed buffer; a multiple of 16 (64 bytes).
  DType type = DType::kF32;  ///< Of its elements, in the store and in the rule's state.

  int64_t Count() const { return shape.Count(); }
  /// Places of the packed buffer that it takes: one for an f32, one for two of bf16.
  int64_t Places() const;
  int64_t RowWidth() const { return Count() / shape[0]; }  ///< Elements per row.
};

/// Slices in packed order, in a buffer whose places hold an f32 each: first all dense ones, so that
/// one pass updates [0, dense_size), then row-sparse ones, then buffers. Alignment gaps are zero
/// and stay zero.
class ParamLayout {
 public:
  /// Appends a slice and returns its index. Names must be unique. Offsets are final after Pack().
  int Add(Slice slice);
  /// Each slice begins at a multiple of `alignment` elements.
  void Pack(int64_t alignment = 16);
  /// Stores the elements of row-sparse matrices as f32 or bf16. Call it before Pack().
  void StoreRowsAs(DType type);
  /// The first `slices` of them, packed as here: dense and row-sparse ones keep their places if the
  /// others are row-sparse.
  ParamLayout First(int slices) const;
  /// The same slices, each with a part of its elements but at least one, about `elements` in all,
  /// without gaps: what stands for the model where only times are simulated.
  ParamLayout Shrunken(int64_t elements) const;

  const std::vector<Slice>& slices() const { return slices_; }
  /// Places of a slice with the gap behind it.
  int64_t Extent(const Slice& slice) const { return RoundUp(slice.Places(), alignment_); }
  /// Elements in the dense part, gaps included.
  int64_t dense_size() const { return dense_size_; }
  int64_t size() const { return size_; }  ///< Elements in the whole buffer, gaps included.
  /// First element of the running statistics, which come last; size() if there are none.
  int64_t statistics_begin() const { return statistics_begin_; }
  bool HasRows() const { return dense_size_ < statistics_begin_; }  ///< Any row-sparse slice.
  int64_t Parameters() const;  ///< Trainable elements (no gaps, no buffers).

 private:
  std::vector<Slice> slices_;
  int64_t alignment_ = 16;
  int64_t dense_size_ = 0;
  int64_t statistics_begin_ = 0;
  int64_t size_ = 0;
};

}  // namespace yoke
