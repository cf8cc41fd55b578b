// Machine: on what a run computes: the processor, the cores it may use, the memory it takes, and
// the libraries it was built with.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace yoke {

/// The processor's name as it calls itself ("AMD EPYC 9B14"), or "unknown".
std::string CpuModel();

/// The instruction-set features that matter to kernels, of those this processor has, oldest first
/// ("avx2", "avx512_bf16").
std::vector<std::string> CpuFeatures();

/// What this machine calls itself in a network.
std::string HostName();

/// Bytes of this process that are in memory now, and the most that ever were; 0 where the system
/// does not say.
int64_t ResidentMemory();
int64_t PeakMemory();

/// What a run takes, in bytes.
struct MemoryUse {
  int64_t peak = 0;          ///< PeakMemory(); 0: not known.
  int64_t before_model = 0;  ///< ResidentMemory() with the data open: program, libraries, data.
  int64_t parameters = 0;
  int64_t rule_state = 0;
  int64_t tables = 0;     ///< What layers keep besides parameters.
  int64_t gradients = 0;  ///< Dense ones and touched rows.

  int64_t Model() const { return parameters + rule_state + tables; }
  double Ratio() const { return static_cast<double>(peak) / static_cast<double>(Model()); }
};

/// Libraries that compute or store, with the version that is running: {"oneDNN", "3.2.0"},
/// {"libarchive", "3.6.2"}.
std::vector<std::pair<std::string, std::string>> Libraries();

}  // namespace yoke
