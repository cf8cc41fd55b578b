// Tensor: a shape, a type and where the numbers lie; it owns nothing and knows no mathematics.
#pragma once

#include "tensor/types.h"

namespace yoke {

/// How the axes of an image tensor [batch, channels, height, width] lie in memory. Shapes are
/// always written in that order.
enum class Layout : uint8_t {
  kPlain,         ///< Row-major in the order of the shape (NCHW).
  kChannelsLast,  ///< batch, height, width, channels (NHWC).
};

/// A view of numbers on a device; `data` may be null (a simulation of times only).
struct Tensor {
  Shape shape;
  DType type = DType::kF32;
  void* data = nullptr;
  Layout layout = Layout::kPlain;

  int64_t Count() const { return shape.Count(); }
  int64_t Bytes() const { return Count() * SizeOf(type); }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data);
  }
};

/// Sparse rows in compressed form (CSR): row r holds entries offsets[r] .. offsets[r+1].
/// `offsets` need not start at 0 (a window of a larger matrix); `ids`/`values` are indexed by them.
struct SparseRows {
  int64_t rows = 0;
  int64_t width = 0;                 ///< Ids are in [0, width).
  const int64_t* offsets = nullptr;  ///< rows + 1
  const int32_t* ids = nullptr;
  const float* values = nullptr;  ///< Null: every value is 1 (labels).

  int64_t Entries() const { return rows ? offsets[rows] - offsets[0] : 0; }
};

}  // namespace yoke
