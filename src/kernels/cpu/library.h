// Library: which oneDNN computes on the CPU, and with which of the processor's instructions.
#pragma once

#include <string>

namespace yoke {

std::string OneDnnVersion();  ///< Of the library that is running: "3.2.0".
std::string
OneDnnInstructions();  ///< What it uses here, ONEDNN_MAX_CPU_ISA respected: "avx512_core_bf16".

}  // namespace yoke
