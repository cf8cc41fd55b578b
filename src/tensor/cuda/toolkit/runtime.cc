// The CUDA runtime's calls as a table. The runtime is linked statically; it finds the driver when
// the first of them is called, and answers with an error where there is none.
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tensor/cuda/cuda_driver.h"
#include "tensor/cuda/cuda_library.h"

namespace yoke {
namespace {

/// The status. The runtime forgets an error that is told here: a later launch is not blamed for it.
int Told(cudaError_t status) {
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status;
}

int AttributeOf(int device, cudaDeviceAttr attribute) {
  int value = 0;
  return Told(cudaDeviceGetAttribute(&value, attribute, device)) == cudaSuccess ? value : 0;
}

int PropertiesOf(int device, CudaProperties* found) {
  cudaDeviceProp all = {};
  if (const int status = Told(cudaGetDeviceProperties(&all, device)); status != cudaSuccess)
    return status;
  const std::string_view name = all.name;
  std::ranges::copy(name.substr(0, sizeof found->name - 1), found->name);
  if (const int status = Told(cudaDeviceGetPCIBusId(found->bus, sizeof found->bus, device));
      status != cudaSuccess)
    return status;
  found->major = all.major;
  found->minor = all.minor;
  found->multiprocessors = all.multiProcessorCount;
  found->clock_hertz = 1e3 * AttributeOf(device, cudaDevAttrClockRate);
  // Two transfers a clock, as the driver counts them.
  found->bytes_per_second = 2e3 * AttributeOf(device, cudaDevAttrMemoryClockRate) *
                            AttributeOf(device, cudaDevAttrGlobalMemoryBusWidth) / 8;
  return cudaSuccess;
}

int SecondsBetween(double* seconds, CUevent_st* begin, CUevent_st* end) {
  float milliseconds = 0;
  const int status = Told(cudaEventElapsedTime(&milliseconds, begin, end));
  *seconds = 1e-3 * milliseconds;
  return status;
}

const char* Missing() {
  static const std::string file = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  static const bool found = cuda::CudaLibrary::IsHere({file, "libcublasLt.so"});
  return found ? nullptr : file.c_str();
}

constexpr CudaDriver kRuntime = {
    .device_count = [](int* count) { return Told(cudaGetDeviceCount(count)); },
    .set_device = [](int device) { return Told(cudaSetDevice(device)); },
    .properties = PropertiesOf,
    .memory = [](size_t* free, size_t* total) { return Told(cudaMemGetInfo(free, total)); },
    .allocate = [](void** memory, size_t bytes) { return Told(cudaMalloc(memory, bytes)); },
    .free = [](void* memory) { return Told(cudaFree(memory)); },
    .allocate_pinned =
        [](void** memory, size_t bytes) {
          return Told(cudaHostAlloc(memory, bytes, cudaHostAllocPortable));
        },
    .free_pinned = [](void* memory) { return Told(cudaFreeHost(memory)); },
    .create_stream =
        [](CUstream_st** stream) {
          return Told(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        },
    .destroy_stream = [](CUstream_st* stream) { return Told(cudaStreamDestroy(stream)); },
    .copy =
        [](void* to, const void* from, size_t bytes, CUstream_st* stream) {
          return Told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
        },
    .clear = [](void* memory, size_t bytes,
                CUstream_st* stream) { return Told(cudaMemsetAsync(memory, 0, bytes, stream)); },
    .launch_host = [](CUstream_st* stream, void (*run)(void*),
                      void* argument) { return Told(cudaLaunchHostFunc(stream, run, argument)); },
    .create_event = [](CUevent_st** event) { return Told(cudaEventCreate(event)); },
    .destroy_event = [](CUevent_st* event) { return Told(cudaEventDestroy(event)); },
    .record = [](CUevent_st* event,
                 CUstream_st* stream) { return Told(cudaEventRecord(event, stream)); },
    .await = [](CUstream_st* stream,
                CUevent_st* event) { return Told(cudaStreamWaitEvent(stream, event, 0)); },
    .wait = [](CUevent_st* event) { return Told(cudaEventSynchronize(event)); },
    .query = [](CUevent_st* event) { return Told(cudaEventQuery(event)); },
    .seconds_between = SecondsBetween,
    .begin_capture =
        [](CUstream_st* stream) {
          return Told(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        },
    .end_capture = [](CUstream_st* stream,
                      CUgraph_st** graph) { return Told(cudaStreamEndCapture(stream, graph)); },
    .instantiate = [](CUgraphExec_st** launchable,
                      CUgraph_st* graph) { return Told(cudaGraphInstantiate(launchable, graph)); },
    .nodes = [](CUgraph_st* graph,
                size_t* count) { return Told(cudaGraphGetNodes(graph, nullptr, count)); },
    .launch = [](CUgraphExec_st* launchable,
                 CUstream_st* stream) { return Told(cudaGraphLaunch(launchable, stream)); },
    .destroy_graph = [](CUgraph_st* graph) { return Told(cudaGraphDestroy(graph)); },
    .destroy_launchable =
        [](CUgraphExec_st* launchable) { return Told(cudaGraphExecDestroy(launchable)); },
    .text = [](int status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); },
    .missing = Missing,
    .least_capability = YOKE_CUDA_LEAST};

}  // namespace

const CudaDriver* LinkedCudaDriver() { return &kRuntime; }

}  // namespace yoke
