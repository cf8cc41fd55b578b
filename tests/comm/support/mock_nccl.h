// MockNccl: NCCL's calls over the ranks of one process, on a MockCuda's streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>

#include "comm/nccl.h"
#include "tensor/cuda/cuda_driver.h"

namespace yoke {

/// The newest one answers all calls; it outlives its communicators. Sums add in the order of ranks;
/// each waits for all ranks, or for its own rank's abort.
class MockNccl {
 public:
  explicit MockNccl(const CudaDriver& driver);
  /// What still waits returns.
  ~MockNccl();
  MockNccl(const MockNccl&) = delete;
  MockNccl& operator=(const MockNccl&) = delete;

  const NcclCalls& calls() const;

  std::atomic<int> ids = 0, aborts = 0, left = 0, sums = 0;  ///< Calls; `sums`: enqueued.
  std::atomic<int> fails_to_join = -1;                       ///< A rank.
  std::atomic<bool> abort_hangs = false;

  struct World;
  struct Work {
    ncclComm* comm;
    float* values;
    size_t count;
  };

  World& Of(const NcclId& id);
  Work& Keep(const Work& work);
  bool over() const { return over_; }
  const CudaDriver& driver() const { return driver_; }
  static MockNccl& Current();

  /// A call that may wait, for which the mock waits at its end.
  class Inside {
   public:
    Inside() : mock_(Current()) { ++mock_.inside_; }
    ~Inside() { --mock_.inside_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    MockNccl& mock_;
  };

 private:
  const CudaDriver& driver_;
  std::atomic<bool> over_ = false;
  std::atomic<int> inside_ = 0;  // calls
  std::mutex mutex_;
  std::map<std::byte, World> worlds_;
  std::deque<Work> works_;  // also of sums that a capture holds
};

}  // namespace yoke
