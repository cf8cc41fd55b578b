// Tensor: a shape, a type and a pointer to the elements. It owns nothing and does no mathematics.
#pragma once

#include "tensor/types.h"

namespace yoke {

/// Memory order of an image tensor's axes. Shapes are always written [batch, channels, height,
/// width].
enum class Layout : uint8_t {
  kPlain,         ///< Row-major in the order of the shape (NCHW).
  kChannelsLast,  ///< batch, height, width, channels (NHWC).
};

/// A view of elements on a device that are only read.
struct ConstTensor {
  Shape shape;
  DType type = DType::kF32;
  const void* data = nullptr;
  Layout layout = Layout::kPlain;

  int64_t Count() const { return shape.Count(); }
  template <typename T>
  const T* As() const {
    return static_cast<const T*>(data);
  }
};

/// A view of elements on a device; `data` may be null (when only times are simulated).
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
  operator ConstTensor() const {  // NOLINT(google-explicit-constructor)
    return {shape, type, data, layout};
  }
};

/// Sparse rows in CSR form: row r has the entries offsets[r] to offsets[r + 1] of `ids` and
/// `values`. `offsets` need not start at 0 (a window of a larger matrix).
struct SparseRows {
  int64_t rows = 0;
  int64_t width = 0;                 ///< Ids are in [0, width).
  const int64_t* offsets = nullptr;  ///< rows + 1
  const int32_t* ids = nullptr;
  const float* values = nullptr;  ///< Null: every value is 1 (labels).

  int64_t Entries() const { return rows ? offsets[rows] - offsets[0] : 0; }
};

}  // namespace yoke
