// NCCL: sums over ranks with a GPU each, where the values lie. Its calls are a table: the
// library's, which is found at run time, or a mock's in tests.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "comm/transport.h"

struct ncclComm;
struct CUstream_st;

namespace yoke {

using NcclId = std::array<std::byte, 128>;

/// Each call but `text` returns a status; 0: it succeeded. They act on the thread's current GPU.
struct NcclCalls {
  int (*make_id)(NcclId* id) = nullptr;
  /// Waits for all ranks, which call it with one id.
  int (*join)(ncclComm** comm, int ranks, const NcclId& id, int rank) = nullptr;
  /// Enqueues that `values` become the sums over the ranks.
  int (*sum)(float* values, size_t count, ncclComm* comm, CUstream_st* stream) = nullptr;
  /// Ends sums under way, which leave anything. No call with this communicator may follow.
  /// It does not return while a captured graph holds sums.
  int (*abort)(ncclComm* comm) = nullptr;
  int (*leave)(ncclComm* comm) = nullptr;  ///< No sum is under way.
  const char* (*text)(int status) = nullptr;
  double abort_timeout = 1;  ///< Seconds that abort may take before it is left behind.
  double leave_timeout = 5;  ///< The same of leave.
};

/// The library's; null: this program is built without CUDA, or there is no library here.
const NcclCalls* LinkedNccl();

/// As Transport::MakeDeviceAllReduce: null unless every rank has NCCL and a GPU that no other rank
/// has. A sum that takes longer than the world's timeout, or in which a rank fails, ends; the
/// stream's next wait throws why. Throws Error with NCCL's words.
std::unique_ptr<DeviceAllReduce> MakeNcclAllReduce(const Communicator& world, Device& device,
                                                   const NcclCalls* calls);

}  // namespace yoke
