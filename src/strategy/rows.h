// Rows: sums gradients of row-sparse slices over ranks or steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "kernels/rows.h"
#include "params/store.h"
#include "tensor/growing_buffer.h"

namespace yoke {

/// AppendRows as a complete message, and its reverse (throws Error for other messages).
std::vector<std::byte> PackRows(const RowGradient& rows, double weight);
void UnpackRows(std::span<const std::byte> message, int64_t width, RowGradient& rows);

/// Sums the touched rows of all row-sparse slices over ranks; only touched rows are sent. Keeps its
/// memory between calls.
class RowExchange {
 public:
  explicit RowExchange(const ParamLayout& layout);

  bool any() const { return !tables_.empty(); }  ///< Whether there are row-sparse slices.
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

/// Carries the touched rows of a device's gradient to the host and back, through staging memory
/// that is kept. On the host it does nothing.
class RowStaging {
 public:
  RowStaging(const ParamLayout& layout, Device& device);

  /// The rows are the host's until Write; waits for the device, once.
  void Read(Gradients& gradients);
  /// Starts their way back, in the order of CurrentStream; the next Read waits for it.
  void Write(Gradients& gradients);

 private:
  struct Table {
    int slice;
    GrowingBuffer here_ids, here_values, ids, values;
  };

  Device& device_;
  std::vector<Table> tables_;  // none on the host
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
