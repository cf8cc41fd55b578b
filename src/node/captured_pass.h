// CapturedPass: forward and backward of batches in one place of a device's memory, enqueued as one
// launch where its stream captures.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "node/sent_batch.h"
#include "params/store.h"
#include "tensor/captured_work.h"

namespace yoke {

/// What the enqueued work depends on besides the contents of memory.
struct PassAddresses {
  int64_t examples = 0, epoch = 0;
  uint64_t seed = 0;
  DType type = DType::kF32;  ///< Of the input.
  std::vector<const void*> addresses = {};

  bool operator==(const PassAddresses&) const = default;
};

/// Whether the work that a batch brings depends on its size, its epoch and addresses alone: dense
/// input with a class or numbers as the label.
bool HasFixedWork(const Batch& batch);
/// `batch` has been sent.
PassAddresses AddressesOf(const SentBatch& batch, const ParamView& view);

class CapturedPass {
 public:
  /// The stream captures: a CUDA device's. Others run everything as it is enqueued.
  explicit CapturedPass(Stream& stream) : capturing_(dynamic_cast<CapturingStream*>(&stream)) {}

  bool Captures() const { return capturing_ != nullptr; }
  /// Enqueues what `enqueue` does. The first call with these addresses runs it as it is (memory
  /// and kernels are made), the second captures it, later ones launch that. Work that breaks a rule
  /// of captures is an Error.
  void Run(const PassAddresses& now, const std::function<void()>& enqueue);

 private:
  CapturingStream* capturing_;
  PassAddresses last_, captured_;
  std::unique_ptr<CapturedWork> graph_;
};

}  // namespace yoke
