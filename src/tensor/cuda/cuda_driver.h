// CudaDriver: the calls of the CUDA runtime that devices use, as a table: the runtime's own, or a
// mock's in tests.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace yoke {

/// Statuses (cudaError_t) that devices tell apart.
inline constexpr int kCudaSuccess = 0, kCudaNoMemory = 2, kCudaNotReady = 600;

/// What a driver says of a device; 0: it does not say.
struct CudaProperties {
  char name[256] = "";
  char bus[32] = "";            ///< Its place in the machine: "0000:3b:00.0".
  int major = 0, minor = 0;     ///< Compute capability.
  int multiprocessors = 0;      ///< Streaming multiprocessors.
  double clock_hertz = 0;       ///< Of the multiprocessors, at most.
  double bytes_per_second = 0;  ///< Of its memory, at most.
};

/// Each call returns a status and, but for device counts, acts on the thread's current device.
/// Streams do not synchronize with the default stream; captures are of their thread alone.
struct CudaDriver {
  int (*device_count)(int* count) = nullptr;
  int (*set_device)(int device) = nullptr;  ///< For this thread.
  int (*properties)(int device, CudaProperties* found) = nullptr;
  int (*memory)(size_t* free, size_t* total) = nullptr;

  int (*allocate)(void** memory, size_t bytes) = nullptr;
  int (*free)(void* memory) = nullptr;
  int (*allocate_pinned)(void** memory, size_t bytes) = nullptr;
  int (*free_pinned)(void* memory) = nullptr;

  int (*create_stream)(CUstream_st** stream) = nullptr;
  int (*destroy_stream)(CUstream_st* stream) = nullptr;
  int (*copy)(void* to, const void* from, size_t bytes, CUstream_st* stream) = nullptr;
  int (*clear)(void* memory, size_t bytes, CUstream_st* stream) = nullptr;
  int (*launch_host)(CUstream_st* stream, void (*run)(void*), void* argument) = nullptr;

  int (*create_event)(CUevent_st** event) = nullptr;  ///< That tells the time.
  int (*destroy_event)(CUevent_st* event) = nullptr;
  int (*record)(CUevent_st* event, CUstream_st* stream) = nullptr;
  int (*await)(CUstream_st* stream, CUevent_st* event) = nullptr;
  int (*wait)(CUevent_st* event) = nullptr;
  int (*query)(CUevent_st* event) = nullptr;  ///< kCudaNotReady: it is still to come.
  int (*seconds_between)(double* seconds, CUevent_st* begin, CUevent_st* end) = nullptr;

  int (*begin_capture)(CUstream_st* stream) = nullptr;
  int (*end_capture)(CUstream_st* stream, CUgraph_st** graph) = nullptr;
  int (*instantiate)(CUgraphExec_st** launchable, CUgraph_st* graph) = nullptr;
  int (*nodes)(CUgraph_st* graph, size_t* count) = nullptr;
  int (*launch)(CUgraphExec_st* launchable, CUstream_st* stream) = nullptr;
  int (*destroy_graph)(CUgraph_st* graph) = nullptr;
  int (*destroy_launchable)(CUgraphExec_st* launchable) = nullptr;

  const char* (*text)(int status) = nullptr;
  /// A library's file without which there are no matrix products, and that is not installed here;
  /// null: it is.
  const char* (*missing)() = nullptr;
  int least_capability = 0;           ///< That kernels are built for: 90 for 9.0.
  bool runs_kernels_on_host = false;  ///< A mock: its memory is the host's.
};

/// The driver of devices that a job names: LinkedCudaDriver's, unless a test gives a mock's (null:
/// no longer).
const CudaDriver* CudaDriverOfJobs();
void GiveCudaDriver(const CudaDriver* mock);

/// The runtime of the toolkit that this program is built with; null: it is built without.
const CudaDriver* LinkedCudaDriver();

}  // namespace yoke
