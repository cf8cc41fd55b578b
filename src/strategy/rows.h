// Rows: gradients of row-sparse slices, of several ranks or steps, brought together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "params/store.h"

namespace yoke {

/// sum += weight * rows. `width` numbers a row; ids stay sorted, each once.
void AddRows(const RowGradient& rows, int64_t width, double weight, RowGradient& sum);

/// AppendRows as a whole message, and back (throws Error where the message is another).
std::vector<std::byte> PackRows(const RowGradient& rows, double weight);
RowGradient UnpackRows(std::span<const std::byte> message, int64_t width);

/// All ranks: the sum over the ranks of weight * rows, the same everywhere. What travels are the
/// touched rows.
void SumRows(const Communicator& world, int64_t width, double weight, RowGradient& rows);

/// Touched rows of one slice, added up over steps; in full, so that a checkpoint knows its size.
struct RowSum {
  RowSum(int which, const ParamLayout& layout);
  /// += weight * rows.
  void Add(const RowGradient& rows, float weight);
  /// Gives the sum away, times `weight`, and begins anew.
  void Move(RowGradient& rows, float weight);

  int slice;
  std::string name;
  int64_t width;
  std::vector<float> values, touched;  ///< touched: 1 for each row that has been, else 0.
};

}  // namespace yoke
