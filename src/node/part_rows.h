// PartRows: the touched rows of parts of a batch, which executors that divide it sum.
#pragma once

#include <span>

#include "kernels/rows.h"
#include "params/store.h"

namespace yoke {

class PartRows {
 public:
  /// Multiplies a part's rows by its fraction of the batch's examples.
  static void Weigh(const ParamLayout& layout, float fraction, Gradients& part);
  /// The rows of all row-sparse slices of `sum` become the sum of the parts', in their order.
  void Sum(const ParamLayout& layout, std::span<const Gradients* const> parts, Gradients& sum);

 private:
  RowMerge merge_;  // keeps its memory
  std::vector<RowBlock> blocks_;
};

}  // namespace yoke
