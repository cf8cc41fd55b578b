// Rows: sums gradients of row-sparse slices over ranks or steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "params/store.h"

namespace yoke {

/// sum += weight * rows, with `width` elements per row. Ids stay sorted and unique.
void AddRows(const RowGradient& rows, int64_t width, double weight, RowGradient& sum);

/// AppendRows as a complete message, and its reverse (throws Error for other messages).
std::vector<std::byte> PackRows(const RowGradient& rows, double weight);
RowGradient UnpackRows(std::span<const std::byte> message, int64_t width);

/// Called by all ranks: the sum over the ranks of weight * rows, the same on all. Only touched rows
/// are sent.
void SumRows(const Communicator& world, int64_t width, double weight, RowGradient& rows);

/// Touched rows of one slice, summed over steps. It is a full-sized array, so that its size in a
/// checkpoint is fixed.
struct RowSum {
  RowSum(int which, const ParamLayout& layout);
  /// Adds weight * rows.
  void Add(const RowGradient& rows, float weight);
  /// Moves the sum times `weight` to `rows` and resets it.
  void Move(RowGradient& rows, float weight);

  int slice;
  std::string name;
  int64_t width;
  std::vector<float> values, touched;  ///< touched: 1 for each touched row, otherwise 0.
};

}  // namespace yoke
