// SentBatch: a batch on the host and on a device.
#pragma once

#include "node/sub_batch.h"
#include "tensor/batch_arrays.h"

namespace yoke {

struct SentBatch {
  SentBatch(Device& device, Stream& stream) : there({.device = &device, .stream = &stream}) {}

  /// Copies `next` here and, in the order of the stream, there. The last copy must have been used.
  void Send(const Batch& next) {
    CopyBatch(next, batch);
    there.Send(batch);
    batch.sent = &there;
  }

  Batch batch;
  BatchArrays there;
};

}  // namespace yoke
