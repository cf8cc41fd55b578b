// The loops of a hashed layer's step over flat arrays, written plainly: for the compiler to
// vectorize (slide_loops_vector.cc) or not (slide_loops_scalar.cc).
#pragma once

#include <span>

#include "tensor/batch.h"

namespace yoke::bench {

inline constexpr int64_t kHidden = 128;

/// Rows of kHidden elements: in one array, or each in memory of its own.
struct FlatRows {
  float* all = nullptr;
  float* const* apart = nullptr;  ///< Null: they lie in `all`.

  float* operator[](int64_t id) const { return apart ? apart[id] : all + id * kHidden; }
};

/// A group of examples and its active rows. Scores and gradient: [examples, columns], of which the
/// first are the active rows'; the others stay 0 as padding does.
struct FlatGroup {
  int64_t examples = 0, columns = 0;
  std::span<const int32_t> ids;
  FlatRows rows;
  const float* hidden = nullptr;  ///< [examples, kHidden]
  float* scores = nullptr;
  float* gradient = nullptr;
  SparseRows labels = {};  ///< By place among ids.
  float* losses = nullptr;
  float* input_gradient = nullptr;  ///< [examples, kHidden]
  const int32_t* places = nullptr;  ///< By id: its row of sums.
  float* sums = nullptr;            ///< Gradients of rows, added to.
};

/// A row under Adam.
struct FlatAdam {
  const float* gradient = nullptr;
  float* values = nullptr;
  float* first = nullptr;  ///< The moments.
  float* second = nullptr;
  float rate = 0;     ///< Over the correction of the first moment.
  float inverse = 0;  ///< Of the correction of the second one's root.
};

struct FlatLoops {
  /// hidden [examples, kHidden] = bias + the sum of weighted rows.
  void (*input_forward)(const SparseRows& input, const FlatRows& rows, const float* bias,
                        float* hidden);
  /// Adds to `sums`, whose rows `places` tells by feature, and writes the bias's gradient.
  void (*input_backward)(const SparseRows& input, const float* gradient, const int32_t* places,
                         float* sums, float* bias_gradient);
  void (*scores)(const FlatGroup& group);
  void (*loss)(const FlatGroup& group);  ///< Softmax: losses, and the gradient of their mean.
  void (*backward)(const FlatGroup& group);
  void (*update)(const FlatAdam& row);
};

FlatLoops ScalarLoops();
FlatLoops VectorLoops();

}  // namespace yoke::bench
