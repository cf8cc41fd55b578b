// MockCuda: a CUDA runtime on the host's memory, which checks how devices use it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/cuda_driver.h"

namespace yoke {

/// The newest one answers all calls; it outlives its devices. Each stream has a thread. Memory
/// begins with garbage, and no address is given out twice: work on what was freed fails as on a GPU
/// (status 700), the host faults there. A call that breaks a rule of captures ends them with status
/// 900, as the runtime does.
class MockCuda {
 public:
  struct Settings {
    int devices = 1;
    int64_t memory = int64_t{1} << 32;  ///< Of each GPU.
    int no_driver = 0;                  ///< The status of every call, if not 0.
    int capability = 90;                ///< Of each GPU: 90 for 9.0.
    int old = -1;                       ///< The number of one whose capability is 6.1.
    const char* missing = nullptr;      ///< CudaDriver::missing.
  };
  MockCuda() : MockCuda(Settings()) {}
  explicit MockCuda(const Settings& settings);
  ~MockCuda();
  MockCuda(const MockCuda&) = delete;
  MockCuda& operator=(const MockCuda&) = delete;

  const CudaDriver& driver() const;
  /// From now on all GPUs are lost: every call returns this status, and nothing runs any more.
  void Lose(int status);
  int64_t allocated() const;  ///< Bytes of GPU memory that are in use.
  int64_t pinned() const;     ///< Bytes of pinned memory that were not given back.
  /// How often each call was made, by its name in the table.
  std::map<std::string, int64_t> calls() const;
  /// Rules that were broken, a sentence each.
  std::vector<std::string> broken() const;

  class Runtime;

 private:
  std::unique_ptr<Runtime> runtime_;
  Runtime* outer_;
};

}  // namespace yoke
