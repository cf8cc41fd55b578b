// HostGrid: runs the bodies of CUDA kernels on the host, so that their arithmetic is tested without
// a GPU. Included before every other header of this folder.
#pragma once

#define YOKE_HOST_DEVICE

#include "kernels/cuda/host_products.h"
#include "kernels/cuda/team.h"
#include "tensor/device.h"

namespace yoke::cuda {

class HostGrid {
 public:
  using Product = HostProduct;
  using Convolver = HostConvolver;

  static Device& device() { return Cpu(); }
  static Stream& stream() { return CpuStream(); }
  /// body(i) for every i below `count`.
  template <typename Body>
  static void Each(int64_t count, const Body& body) {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  /// body(team, i) for every i below `count`, each by a team of `threads`.
  template <typename Body>
  static void Teams(int64_t count, int threads, const Body& body) {
    HostTeam team(threads);
    for (int64_t i = 0; i < count; ++i) body(team, i);
  }
};

}  // namespace yoke::cuda
