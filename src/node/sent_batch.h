// SentBatch: a batch on the host, but for its dense input, and on a device.
#pragma once

#include "node/sub_batch.h"
#include "tensor/batch_arrays.h"

namespace yoke {

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
