// CapturedPasses: the work of batches in one place of a device's memory, enqueued as one launch
// where its stream captures: a graph for each place and batch size.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "node/sub_batch.h"
#include "params/store.h"
#include "tensor/device.h"

namespace yoke {

/// What the enqueued work depends on besides the contents of memory.
struct PassAddresses {
  std::shared_ptr<const void> plan;  ///< GraphPlan::Place, of a plan for one batch size.
  uint64_t seed = 0;
  DType type = DType::kF32;  ///< Of the input.
  std::vector<const void*> addresses = {};

  bool operator==(const PassAddresses&) const = default;
};

/// `batch` has been sent.
PassAddresses AddressesOf(const SentBatch& batch, const ParamView& view);

class CapturedPasses {
 public:
  /// Of so many batch sizes with kMostUnderWay places each; those launched last.
  static constexpr size_t kMost = 12;

  /// The stream captures: a CUDA device's. Others run everything as it is enqueued.
  explicit CapturedPasses(Stream& stream) : capturing_(dynamic_cast<CapturingStream*>(&stream)) {}

  bool Captures() const { return capturing_ != nullptr; }
  /// Enqueues what `enqueue` does; true if it was called. The first call with a plan runs it as it
  /// is (memory and kernels are made), later ones with new addresses capture it, others launch
  /// that. Work that breaks a rule of captures is an Error.
  bool Run(const PassAddresses& now, const std::function<void()>& enqueue);
  /// Whether the last Run launched what was captured.
  bool launched() const { return launched_; }

 private:
  struct Captured {
    PassAddresses of;
    std::unique_ptr<CapturedWork> work;
  };

  bool IsWarm(const std::shared_ptr<const void>& plan);
  std::unique_ptr<CapturedWork> Capture(const std::function<void()>& enqueue);

  CapturingStream* capturing_;
  bool launched_ = false;
  std::vector<Captured> captured_;                 // the one launched last is the last
  std::vector<std::shared_ptr<const void>> warm_;  // likewise of plans
};

}  // namespace yoke
