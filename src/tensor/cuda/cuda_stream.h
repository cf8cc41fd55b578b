// CudaStream: what the kernels of a CUDA device need of the stream that they are made for.
#pragma once

#include <exception>
#include <functional>
#include <string_view>

#include "tensor/device.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace yoke {

/// The runtime's stream behind this one. Throws Error where it is not of a CUDA device.
CUstream_st* NativeStream(Stream& stream);

/// Throws Error with the runtime's words unless `status`, a cudaError_t, is cudaSuccess. `what`
/// names the call or kernel: "cudaMalloc".
void CheckCuda(int status, std::string_view what);

/// Whether kernels for this stream run on the host: on a mock driver (tests), whose memory the
/// host reads. They are then given to LaunchOnHost and launched nowhere else.
bool RunsOnHost(Stream& stream);
/// Runs `work` on the host after everything enqueued before, or puts it into the graph that is
/// captured, each launch of which runs it anew.
void LaunchOnHost(Stream& stream, std::function<void()> work);

/// Whether what is enqueued on the stream becomes a part of a capture, its own or one that it
/// joined by an event.
bool IsCaptured(Stream& stream);

/// Every later wait for the stream's GPU throws this.
void FailStream(Stream& stream, const std::exception_ptr& failure);

}  // namespace yoke
