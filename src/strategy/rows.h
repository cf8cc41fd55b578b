// Rows: sums gradients of row-sparse slices over ranks or steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "kernels/rows.h"
#include "params/store.h"

namespace yoke {

/// AppendRows as a complete message, and its reverse (throws Error for other messages).
std::vector<std::byte> PackRows(const RowGradient& rows, double weight);
void UnpackRows(std::span<const std::byte> message, int64_t width, RowGradient& rows);

/// Sums the touched rows of all row-sparse slices over ranks; only touched rows are sent. Keeps its
/// memory between calls.
class RowExchange {
 public:
  explicit RowExchange(const ParamLayout& layout);

  /// Called by all ranks: their rows become the sum over the ranks of weight * rows.
  void Sum(const Communicator& world, double weight, Gradients& gradients);
  /// The same, but only rank 0 gets the sum.
  void SumToFirst(const Communicator& world, double weight, Gradients& gradients);

 private:
  struct Table {
    int slice = 0;
    int64_t width = 0;
  };
  void Merge(std::span<const std::vector<std::byte>> messages, const Table& table,
             RowGradient& sum);

  std::vector<Table> tables_;
  std::vector<RowGradient> theirs_;
  std::vector<RowBlock> blocks_;
  RowMerge merge_;
};

/// Touched rows of one slice, summed over steps. It is a full-sized array, so that its size in a
/// checkpoint is fixed.
struct RowSum {
  RowSum(int which, const ParamLayout& layout);
  /// Adds weight * rows.
  void Add(const RowGradient& rows, float weight);
  /// Moves the sum times `weight` to `rows` and resets it.
  void Move(RowGradient& rows, float weight);
  void Reset();

  int slice;
  std::string name;
  int64_t width;
  std::vector<float> values, touched;  ///< touched: 1 for each touched row, otherwise 0.
};

}  // namespace yoke
