// Machine: the hardware and software of a run: processor, memory use and libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"

namespace yoke {

/// The processor's name ("AMD EPYC 9B14"), or "unknown".
std::string CpuModel();

/// The processor's instruction-set features that matter to kernels, oldest first ("avx2",
/// "avx512_bf16").
std::vector<std::string> CpuFeatures();

/// The machine's host name.
std::string HostName();

/// The time, as strftime writes it: "2026-11-24 10:15".
std::string LocalTime(const char* format = "%Y-%m-%d %H:%M");

/// Resident memory of this process in bytes, current and peak; 0 if the system does not report it.
int64_t ResidentMemory();
int64_t PeakMemory();
/// Bytes that the other threads of this process have read from files so far; 0 if the system does
/// not report it.
int64_t BytesReadByOthers();
/// The same for all threads.
int64_t BytesRead();

/// The memory use of a run in bytes.
struct MemoryUse {
  int64_t peak = 0;          ///< PeakMemory(); 0: unknown.
  int64_t before_model = 0;  ///< ResidentMemory() with the data open: program, libraries, data.
  int64_t parameters = 0;
  int64_t rule_state = 0;
  int64_t tables = 0;     ///< State of layers besides parameters.
  int64_t gradients = 0;  ///< Dense gradients and touched rows.

  int64_t Model() const { return parameters + rule_state + tables; }
  double Ratio() const { return static_cast<double>(peak) / static_cast<double>(Model()); }
};

/// What a result depends on besides the libraries: version, commit, cpu, features, isa.
Table Conditions();

/// Libraries for computing and storage, with their loaded versions: {"oneDNN", "3.2.0"},
/// {"libarchive", "3.6.2"}.
std::vector<std::pair<std::string, std::string>> Libraries();

}  // namespace yoke
