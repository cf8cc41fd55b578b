// Share: a part of a batch as a batch of its own.
#pragma once

#include "tensor/batch.h"

namespace yoke {

/// Makes `to` the examples [begin, end) of `from`. Dense input is not copied: it stays in `from`,
/// which must outlive the use of `to`. Keeps the memory of `to`.
void TakeShare(const Batch& from, int64_t begin, int64_t end, Batch& to);
/// Makes `to` the same examples with their labels, and `dense` for input, which must outlive it.
void TakeLabels(const Batch& from, const Tensor& dense, Batch& to);

}  // namespace yoke
