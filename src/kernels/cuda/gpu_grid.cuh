// GpuGrid: launches the bodies of CUDA kernels on a stream. Included before every other header of
// this folder.
#pragma once

#define YOKE_HOST_DEVICE __host__ __device__

#pragma nv_diag_suppress 554  // a conversion of Array whose constraint does not hold

#include <algorithm>

#include "kernels/cuda/products.h"
#include "kernels/cuda/team.h"
#include "kernels/makers.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke::cuda {

class GpuTeam {
 public:
  __device__ explicit GpuTeam(unsigned char* shared) : shared_(shared) {}

  template <typename V, typename Element, typename Join>
  __device__ V Reduce(int64_t count, V zero, const Element& element, const Join& join) {
    static_assert(sizeof(V) <= kMostSum);
    V own = zero;
#pragma unroll 4  // loads are under way together
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) own = join(own, element(i));
    return Joined(own, 1, join)[0];
  }

  template <typename V, typename Element, typename Join, typename Finish>
  __device__ void Columns(int64_t rows, V zero, const Element& element, const Join& join,
                          const Finish& finish) {
    static_assert(sizeof(V) <= kMostSum);
    const int column = static_cast<int>(threadIdx.x) % kWarp;
    V own = zero;
#pragma unroll 4
    for (int64_t r = threadIdx.x / kWarp; r < rows; r += blockDim.x / kWarp)
      own = join(own, element(r, column));
    const V* const joined = Joined(own, kWarp, join);
    if (threadIdx.x < kWarp) finish(column, joined[column]);
  }

  template <typename Body>
  __device__ void Each(int64_t count, const Body& body) {
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) body(i);
  }
  template <typename Body>
  __device__ void Once(const Body& body) {
    if (threadIdx.x == 0) body();
  }
  __device__ void Sync() { __syncthreads(); }

 private:
  /// All threads' values, joined by halves down to `least` of them.
  template <typename V, typename Join>
  __device__ const V* Joined(const V& own, unsigned least, const Join& join) {
    V* const all = reinterpret_cast<V*>(shared_);
    __syncthreads();  // the last total has been read
    all[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half >= least; half /= 2) {
      if (threadIdx.x < half) all[threadIdx.x] = join(all[threadIdx.x], all[threadIdx.x + half]);
      __syncthreads();
    }
    return all;
  }

  unsigned char* shared_;
};

template <typename Body>
__global__ void EachKernel(const Body body, const int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

template <typename Body>
__global__ void __launch_bounds__(kMostThreads) TeamKernel(const Body body) {
  extern __shared__ __align__(kMostSum) unsigned char shared[];
  GpuTeam team(shared);
  body(team, static_cast<int64_t>(blockIdx.x));
}

/// The grids of one target's stream.
class GpuGrid {
 public:
  using Product = LibraryProduct;
  using Convolver = LibraryConvolver;

  explicit GpuGrid(const Target& target) : device_(target.device), stream_(target.stream) {}

  Device& device() const { return *device_; }
  Stream& stream() const { return *stream_; }

  template <typename Body>
  void Each(int64_t count, const Body& body) const {
    if (count <= 0) return;
    if (RunsOnHost(*stream_))
      return LaunchOnHost(*stream_, [=] {
        for (int64_t i = 0; i < count; ++i) body(i);
      });
    EachKernel<<<static_cast<unsigned>((count + kTeam - 1) / kTeam), kTeam, 0,
                 NativeStream(*stream_)>>>(body, count);
    CheckCuda(cudaGetLastError(), "a kernel's launch");
  }

  template <typename Body>
  void Teams(int64_t count, int threads, const Body& body) const {
    if (count <= 0) return;
    if (RunsOnHost(*stream_))
      return LaunchOnHost(*stream_, [=] {
        HostTeam team(threads);
        for (int64_t i = 0; i < count; ++i) body(team, i);
      });
    TeamKernel<<<static_cast<unsigned>(count), threads, threads * kMostSum,
                 NativeStream(*stream_)>>>(body);
    CheckCuda(cudaGetLastError(), "a kernel's launch");
  }

 private:
  Device* device_;
  Stream* stream_;
};

/// The maker of a kernel that is a template of its grid.
#define YOKE_CUDA_KERNEL(Call, Shape, ...)                                                    \
  template <>                                                                                 \
  std::unique_ptr<Kernel<Call>> Make<Call, Shape>(const Shape& shape, const Target& target) { \
    return std::make_unique<__VA_ARGS__>(shape, GpuGrid(target));                             \
  }

}  // namespace yoke::cuda
