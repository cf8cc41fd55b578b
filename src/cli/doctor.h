// Doctor: what `yoke doctor` finds: the machine's hardware, and the cost of messages between ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/topology.h"
#include "cli/output.h"
#include "measure/device_rates.h"
#include "tensor/cuda/cuda_device.h"

namespace yoke {

/// A GPU that the CUDA driver names. Those that this program can use are measured.
struct CudaGpu {
  CudaDescription says;
  DeviceRates rates = {};
  /// Why there are no rates; empty: there are, or the GPU is not usable.
  std::string not_measured = {};

  std::string Text() const;
  Table Row() const;
};
/// Takes a second or two for each, and less memory than is free. `driver` may be null.
std::vector<CudaGpu> FindCudaGpus(const CudaDriver* driver, const RatesRequest& request = {});

struct Hardware {
  int usable = 0;    ///< Cores this process may use, by affinity and cgroup.
  int affinity = 0;  ///< Logical processors in the affinity mask.
  int physical = 0;
  int logical = 0;
  int memory_nodes = 0;  ///< NUMA nodes.
  ThreadPlan threads;    ///< The default thread plan of training.
  std::vector<CacheInfo> caches;
  int64_t memory = 0;                  ///< Total bytes,
  int64_t memory_available = 0;        ///< bytes free or reclaimable,
  int64_t memory_limit = 0;            ///< bytes allowed by the cgroup; 0: no limit.
  std::vector<std::string> gpus;       ///< Names reported by the driver's files.
  std::vector<CudaGpu> cuda;           ///< Those that the CUDA driver names,
  std::string no_cuda;                 ///< or why there is none.
  std::vector<std::string> launchers;  ///< Paths of programs that start MPI jobs.
};

/// Measures GPUs. Never fails: values that cannot be determined stay 0 or empty.
Hardware FindHardware();

struct NetworkRequest {
  std::optional<int> replicas = {};  ///< Number of ranks as threads of this process, if given.
  double timeout = 60;               ///< Maximum seconds of one wait.
};

/// Measures between the processes of a launcher or, without one, between threads; rank 0 prints.
/// Throws UserError if both a launcher and replicas are given, and for fewer than 2 replicas.
void ReportNetwork(const NetworkRequest& request, Output& out);

}  // namespace yoke
