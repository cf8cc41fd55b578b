// SubBatch: a part of a batch as a separate batch.
#pragma once

#include "tensor/batch.h"

namespace yoke {

/// Makes `to` the examples [begin, end) of `from`. Dense input is not copied, so `from` must
/// outlive the use of `to`. Reuses the memory of `to`.
void TakeSubBatch(const Batch& from, int64_t begin, int64_t end, Batch& to);
/// Makes `to` a copy of `from` in memory of its own.
void CopyBatch(const Batch& from, Batch& to);
/// Makes `to` the same examples and labels with `dense` as input; `dense` must outlive it.
void TakeLabels(const Batch& from, const Tensor& dense, Batch& to);

}  // namespace yoke
