// Statuses that MockCuda returns besides those that devices tell apart, with the runtime's words.
#pragma once

#include "tensor/cuda/cuda_driver.h"

namespace yoke::mock {

inline constexpr int kInvalid = 1, kIllegalAddress = 700, kForbidden = 900, kBrokenCapture = 901,
                     kUnjoined = 904, kIsolated = 905, kNoDriver = 35, kLaunchFailed = 719;

inline const char* TextOf(int status) {
  switch (status) {
    case kCudaSuccess:
      return "no error";
    case kCudaNoMemory:
      return "out of memory";
    case kNoDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case kIllegalAddress:
      return "an illegal memory access was encountered";
    case kLaunchFailed:
      return "unspecified launch failure";
    case kForbidden:
      return "operation not permitted when stream is capturing";
    case kBrokenCapture:
      return "operation failed due to a previous error during capture";
    case kUnjoined:
      return "capture has unjoined work";
    case kIsolated:
      return "dependency created on uncaptured work in another stream";
    default:
      return "mock error";
  }
}

}  // namespace yoke::mock
