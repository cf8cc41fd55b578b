// SubBatch: a part of a batch as a separate batch, the sum of what the parts touched, and a batch
// that is sent to a device.
#pragma once

#include <span>

#include "kernels/rows.h"
#include "params/store.h"
#include "tensor/batch.h"
#include "tensor/batch_arrays.h"

namespace yoke {

/// Makes `to` the examples [begin, end) of `from`. Dense input is not copied, so `from` must
/// outlive the use of `to`. Reuses the memory of `to`.
void TakeSubBatch(const Batch& from, int64_t begin, int64_t end, Batch& to);
/// Makes `to` the same examples and labels with `dense` as input; `dense` must outlive it.
void TakeLabels(const Batch& from, const Tensor& dense, Batch& to);

/// The touched rows of parts of a batch, which executors that divide it sum.
class PartRows {
 public:
  /// Multiplies a part's rows by its fraction of the batch's examples.
  static void Weigh(const ParamLayout& layout, float fraction, Gradients& part);
  /// The rows of all row-sparse slices of `sum` become the sum of the parts', in their order.
  void Sum(const ParamLayout& layout, std::span<const Gradients* const> parts, Gradients& sum);
  /// The same for the first `slices` of them: block_of(p, s) has the rows of slice s by part p.
  template <typename Find>
  void Sum(const ParamLayout& layout, int slices, size_t parts, const Find& block_of,
           Gradients& sum) {
    for (int s = 0; s < slices; ++s) {
      const Slice& slice = layout.slices()[s];
      if (slice.kind != SliceKind::kRowSparse) continue;
      blocks_.clear();
      for (size_t p = 0; p < parts; ++p) blocks_.push_back(block_of(p, s));
      RowGradient& to = sum.rows(s);
      merge_.Run(blocks_, slice.RowWidth(), to.ids, to.values);
    }
  }
  static RowBlock BlockOf(const ParamLayout& layout, const Gradients& part, int slice) {
    const RowGradient& rows = part.rows(slice);
    return {.rows = rows.ids,
            .values = rows.values.data(),
            .stride = layout.slices()[slice].RowWidth()};
  }

 private:
  RowMerge merge_;  // keeps its memory
  std::vector<RowBlock> blocks_;
};

/// A batch on the host, but for its dense input, and on a device.
struct SentBatch {
  SentBatch(Device& device, Stream& stream) : there({.device = &device, .stream = &stream}) {}

  /// Copies `next` here and, in the order of the stream, there; then it may change. The last copy
  /// must have been used.
  void Send(const Batch& next) {
    TakeSubBatch(next, 0, next.size, batch);
    there.Send(batch);
    batch.sent = &there;
  }

  Batch batch;
  BatchArrays there;
};

}  // namespace yoke
