// Machine: on what a run computes: the processor, the cores it may use, and the libraries it was
// built with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace yoke {

/// The processor's name as it calls itself ("AMD EPYC 9B14"), or "unknown".
std::string CpuModel();

/// The instruction-set features that matter to kernels, of those this processor has, oldest first
/// ("avx2", "avx512_bf16").
std::vector<std::string> CpuFeatures();

/// Libraries that compute or store, with the version that is running: {"oneDNN", "3.2.0"},
/// {"libarchive", "3.6.2"}.
std::vector<std::pair<std::string, std::string>> Libraries();

}  // namespace yoke
